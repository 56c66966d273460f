module clustersync.dev/bench/floor

go 1.24

require (
	github.com/xdg-go/scram v1.2.0
	go.mongodb.org/mongo-driver/v2 v2.7.0
)

require (
	github.com/xdg-go/pbkdf2 v1.0.0 // indirect
	github.com/xdg-go/stringprep v1.0.4 // indirect
	golang.org/x/text v0.22.0 // indirect
)
