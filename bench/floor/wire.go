package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"
)

const opMsg = 2013

// connection is one authenticated connection to a mongod: OP_MSG, one command at a time.
type connection struct {
	socket    net.Conn
	reader    *bufio.Reader
	requestID uint32
}

// connect opens a connection to the first host of a connection string, and logs in.
func connect(uri string) (*connection, error) {
	parsed, err := url.Parse(uri)
	if err != nil {
		return nil, err
	}
	socket, err := net.Dial("tcp", parsed.Host)
	if err != nil {
		return nil, err
	}
	c := &connection{socket: socket, reader: bufio.NewReaderSize(socket, 1<<20)}
	password, _ := parsed.User.Password()
	if err := c.logIn(parsed.User.Username(), password); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *connection) logIn(user, password string) error {
	client, err := scram.SHA256.NewClient(user, password, "")
	if err != nil {
		return err
	}
	conversation := client.NewConversation()
	payload, err := conversation.Step("")
	if err != nil {
		return err
	}
	command := bson.D{{Key: "saslStart", Value: 1}, {Key: "mechanism", Value: "SCRAM-SHA-256"}}
	for {
		command = append(command,
			bson.E{Key: "payload", Value: []byte(payload)}, bson.E{Key: "$db", Value: "admin"})
		reply, err := c.run(command, nil)
		if err != nil {
			return err
		}
		_, challenge := reply.Lookup("payload").Binary()
		if !conversation.Done() {
			if payload, err = conversation.Step(string(challenge)); err != nil {
				return err
			}
		} else {
			payload = ""
		}
		if reply.Lookup("done").Boolean() {
			return nil
		}
		id := reply.Lookup("conversationId")
		command = bson.D{{Key: "saslContinue", Value: 1}, {Key: "conversationId", Value: id}}
	}
}

// run sends a command, with documents as they are on the wire, and returns the reply. A reply that is not ok, or that
// reports write errors, is an error.
func (c *connection) run(command bson.D, documents []byte) (bson.Raw, error) {
	body, err := bson.Marshal(command)
	if err != nil {
		return nil, err
	}
	const sequence = "documents\x00"
	length := 16 + 4 + 1 + len(body)
	if documents != nil {
		length += 1 + 4 + len(sequence) + len(documents)
	}
	c.requestID++
	head := make([]byte, 0, 21+len(body)+5+len(sequence))
	for _, field := range []uint32{uint32(length), c.requestID, 0, opMsg, 0} {
		head = binary.LittleEndian.AppendUint32(head, field)
	}
	head = append(append(head, 0), body...)
	buffers := net.Buffers{head}
	if documents != nil {
		section := binary.LittleEndian.AppendUint32([]byte{1}, uint32(4+len(sequence)+len(documents)))
		buffers = append(buffers, append(section, sequence...), documents)
	}
	if _, err := buffers.WriteTo(c.socket); err != nil {
		return nil, err
	}
	var header [16]byte
	if _, err := io.ReadFull(c.reader, header[:]); err != nil {
		return nil, err
	}
	answer := make([]byte, binary.LittleEndian.Uint32(header[:4])-16)
	if _, err := io.ReadFull(c.reader, answer); err != nil {
		return nil, err
	}
	reply := bson.Raw(answer[5:])
	if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok != 1 {
		return nil, fmt.Errorf("%s failed: %.500s", command[0].Key, reply)
	}
	if _, err := reply.LookupErr("writeErrors"); err == nil {
		return nil, fmt.Errorf("%s failed: %.500s", command[0].Key, reply)
	}
	return reply, nil
}
