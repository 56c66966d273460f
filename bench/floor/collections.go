package main

import (
	"fmt"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// manyCollections describes what is created when nothing is copied: c0, c1, ... of a database, each with documents and an index.
type manyCollections struct {
	database                        string
	count, documents, documentBytes int
	connections                     int
	writeConcern                    any
}

// create creates the collections as mongorestore does, several in parallel, each with three commands. It reads no source: it
// creates what a restore would read from its archive.
func (m manyCollections) create(destination string) error {
	var documents []byte
	filler := strings.Repeat("x", max(0, m.documentBytes-40))
	for number := range m.documents {
		document, err := bson.Marshal(bson.D{
			{Key: "_id", Value: number}, {Key: "number", Value: number}, {Key: "text", Value: filler},
		})
		if err != nil {
			return err
		}
		documents = append(documents, document...)
	}
	todo := make(chan int, m.count)
	for number := range m.count {
		todo <- number
	}
	close(todo)
	failures := make(chan error, m.connections)
	var working sync.WaitGroup
	for range m.connections {
		working.Add(1)
		go func() {
			defer working.Done()
			failures <- m.createEach(destination, todo, documents)
		}()
	}
	working.Wait()
	for range m.connections {
		if err := <-failures; err != nil {
			return err
		}
	}
	return nil
}

func (m manyCollections) createEach(destination string, todo <-chan int, documents []byte) error {
	c, err := connect(destination)
	if err != nil {
		return err
	}
	for number := range todo {
		name := fmt.Sprintf("c%d", number)
		index := bson.D{{Key: "key", Value: bson.D{{Key: "number", Value: 1}}}, {Key: "name", Value: "number_1"}}
		commands := []bson.D{
			{{Key: "create", Value: name}},
			{{Key: "insert", Value: name}, {Key: "ordered", Value: false}},
			{{Key: "createIndexes", Value: name}, {Key: "indexes", Value: bson.A{index}}},
		}
		for _, command := range commands {
			var sequence []byte
			if command[0].Key == "insert" {
				sequence = documents
			}
			command = append(command,
				bson.E{Key: "writeConcern", Value: bson.D{{Key: "w", Value: m.writeConcern}}},
				bson.E{Key: "$db", Value: m.database})
			if _, err := c.run(command, sequence); err != nil {
				return err
			}
		}
	}
	return nil
}
