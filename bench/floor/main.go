// Command floor copies collections as fast as the servers allow: it does what any copier must do, and nothing else. It does not
// decode documents, follow changes, resume, check or retry. Other copiers are compared with it.
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	rangeBytes       = 64 << 20
	insertBytes      = 16 << 20
	insertDocuments  = 100_000
	wholeFetch       = int32(1 << 30)
	batchesInMemory  = 2
	connectionsASide = 2
)

// collection is one to copy, with the indexes that it has besides the one on _id.
type collection struct {
	database, name string
	indexes        bson.A
}

// scan is a range of _id of a collection: bounds of type 0 are open.
type scan struct {
	of       collection
	min, max bson.RawValue
}

// batch is the result of one fetch: documents as they are on the wire.
type batch struct {
	of        collection
	documents []byte
}

func main() {
	log.SetFlags(0)
	indexes := flag.String("indexes", "after", "build indexes before or after the documents")
	many := manyCollections{writeConcern: 1}
	flag.IntVar(&many.count, "collections", 0, "create so many collections, and copy nothing")
	flag.StringVar(&many.database, "database", "bench", "where to create them")
	flag.IntVar(&many.documents, "documents", 10, "documents in each of them")
	flag.IntVar(&many.documentBytes, "documentBytes", 300, "size of a document")
	flag.IntVar(&many.connections, "connections", 4, "collections created side by side")
	isMajority := flag.Bool("majority", false, "wait for a majority at each command")
	flag.Parse()
	if *isMajority {
		many.writeConcern = "majority"
	}
	// From the environment: connection strings must not appear in the list of processes, and there may be many names.
	source, destination := os.Getenv("FLOOR_SOURCE"), os.Getenv("FLOOR_DESTINATION")
	if many.count > 0 {
		if err := many.create(destination); err != nil {
			log.Fatal("floor: ", err)
		}
		return
	}
	namespaces := strings.Split(os.Getenv("FLOOR_NAMESPACES"), ",")
	if err := copyAll(source, destination, namespaces, *indexes); err != nil {
		log.Fatal("floor: ", err)
	}
}

func copyAll(source, destination string, namespaces []string, indexes string) error {
	from, err := connect(source)
	if err != nil {
		return err
	}
	to, err := connect(destination)
	if err != nil {
		return err
	}
	var collections []collection
	var scans []scan
	for _, namespace := range namespaces {
		database, name, _ := strings.Cut(namespace, ".")
		one := collection{database: database, name: name}
		if one.indexes, err = indexesOf(from, one); err != nil {
			return err
		}
		collections = append(collections, one)
		ranges, err := split(from, one)
		if err != nil {
			return err
		}
		scans = append(scans, ranges...)
	}
	if indexes == "before" {
		if err := createIndexes(to, collections); err != nil {
			return err
		}
	}
	if err := copyDocuments(source, destination, scans); err != nil {
		return err
	}
	if indexes == "after" {
		return createIndexes(to, collections)
	}
	return nil
}

func indexesOf(c *connection, of collection) (bson.A, error) {
	reply, err := c.run(bson.D{{Key: "listIndexes", Value: of.name}, {Key: "$db", Value: of.database}}, nil)
	if err != nil {
		return nil, err
	}
	found, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		return nil, err
	}
	var indexes bson.A
	for _, index := range found {
		if index.Document().Lookup("name").StringValue() != "_id_" {
			indexes = append(indexes, index.Document())
		}
	}
	return indexes, nil
}

func createIndexes(c *connection, collections []collection) error {
	for _, of := range collections {
		if len(of.indexes) == 0 {
			continue
		}
		if _, err := c.run(bson.D{
			{Key: "createIndexes", Value: of.name}, {Key: "indexes", Value: of.indexes}, {Key: "$db", Value: of.database},
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

func split(c *connection, of collection) ([]scan, error) {
	reply, err := c.run(bson.D{
		{Key: "splitVector", Value: of.database + "." + of.name},
		{Key: "keyPattern", Value: bson.D{{Key: "_id", Value: 1}}},
		{Key: "maxChunkSizeBytes", Value: rangeBytes}, {Key: "$db", Value: "admin"},
	}, nil)
	if err != nil {
		return nil, err
	}
	keys, err := reply.Lookup("splitKeys").Array().Values()
	if err != nil {
		return nil, err
	}
	var scans []scan
	var last bson.RawValue
	for _, key := range keys {
		id := key.Document().Lookup("_id")
		scans = append(scans, scan{of: of, min: last, max: id})
		last = id
	}
	return append(scans, scan{of: of, min: last}), nil
}

func copyDocuments(source, destination string, scans []scan) error {
	todo := make(chan scan, len(scans))
	for _, one := range scans {
		todo <- one
	}
	close(todo)
	batches := make(chan batch, batchesInMemory)
	failures := make(chan error, 2*connectionsASide)
	var reading, writing sync.WaitGroup
	for range connectionsASide {
		reading.Add(1)
		go func() {
			defer reading.Done()
			failures <- read(source, todo, batches)
		}()
		writing.Add(1)
		go func() {
			defer writing.Done()
			failures <- write(destination, batches)
		}()
	}
	go func() {
		reading.Wait()
		close(batches)
	}()
	writing.Wait()
	for range 2 * connectionsASide {
		if err := <-failures; err != nil {
			return err
		}
	}
	return nil
}

func read(source string, todo <-chan scan, batches chan<- batch) error {
	c, err := connect(source)
	if err != nil {
		return err
	}
	for one := range todo {
		command := bson.D{
			{Key: "find", Value: one.of.name}, {Key: "batchSize", Value: wholeFetch},
			{Key: "$db", Value: one.of.database}, {Key: "hint", Value: bson.D{{Key: "_id", Value: 1}}},
		}
		if one.min.Type != 0 {
			command = append(command, bson.E{Key: "min", Value: bson.D{{Key: "_id", Value: one.min}}})
		}
		if one.max.Type != 0 {
			command = append(command, bson.E{Key: "max", Value: bson.D{{Key: "_id", Value: one.max}}})
		}
		for field := "firstBatch"; ; field = "nextBatch" {
			reply, err := c.run(command, nil)
			if err != nil {
				return err
			}
			if documents := elements(reply.Lookup("cursor", field).Value); len(documents) > 0 {
				batches <- batch{of: one.of, documents: documents}
			}
			cursor := reply.Lookup("cursor", "id").Int64()
			if cursor == 0 {
				break
			}
			command = bson.D{
				{Key: "getMore", Value: cursor}, {Key: "collection", Value: one.of.name},
				{Key: "batchSize", Value: wholeFetch}, {Key: "$db", Value: one.of.database},
			}
		}
	}
	return nil
}

// elements extracts the documents of a BSON array: one after the other, without their keys.
func elements(array []byte) []byte {
	documents := make([]byte, 0, len(array))
	for at := 4; array[at] != 0; {
		at++
		for array[at] != 0 {
			at++
		}
		at++
		length := int(binary.LittleEndian.Uint32(array[at:]))
		documents = append(documents, array[at:at+length]...)
		at += length
	}
	return documents
}

func write(destination string, batches <-chan batch) error {
	c, err := connect(destination)
	for one := range batches {
		for rest := one.documents; err == nil && len(rest) > 0; {
			end := 0
			for count := 0; end < len(rest) && count < insertDocuments; count++ {
				length := int(binary.LittleEndian.Uint32(rest[end:]))
				if end > 0 && end+length > insertBytes {
					break
				}
				end += length
			}
			_, err = c.run(bson.D{
				{Key: "insert", Value: one.of.name}, {Key: "ordered", Value: false},
				{Key: "writeConcern", Value: bson.D{{Key: "w", Value: 1}}}, {Key: "$db", Value: one.of.database},
			}, rest[:end])
			rest = rest[end:]
		}
	}
	if err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	return nil
}
