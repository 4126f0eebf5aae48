// Package mcpserver lets agents ask what was recorded, by the Model Context Protocol.
package mcpserver

import (
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/repo"
)

// Options say what is served.
type Options struct {
	Open  func(ctx context.Context) (*repo.Store, error) // the workspace, when it is first needed
	Tape  string                                         // the tape that is meant where none is named; "" is the current one
	Write bool                                           // offer tools that write, too
	Hint  func(repo.Hint) string                         // words for a way out

	Version string
}

// Serve serves one client until its input ends.
func Serve(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "tape", Version: o.Version}, nil)
	return server.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}})
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
