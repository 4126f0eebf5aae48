package procplugin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"tape/hooks"
	"tape/repo"
)

// Config is a plugin's part of the settings.
type Config struct {
	Name     string
	Command  []string // the program and its arguments; no shell
	Priority int
	Required bool            // calls need its approval
	Env      []string        // variables that it gets although they look secret
	Config   json.RawMessage // for the plugin itself
}

// Options are the same for all plugins of a host.
type Options struct {
	Host    string         // the host's name and version: "tape 1.0"
	Project string         // the project's folder
	Dir     string         // the folder in which plugins are started; "": Project
	Keys    []string       // secrets to keep out of plugins' environments
	Runtime *hooks.Runtime // has the tools that plugins may call; nil: none
	// Tape returns a session's tape. ctx belongs to the call within which the plugin asks, if there is one.
	// nil: there are no tapes.
	Tape func(ctx context.Context, session string) (*repo.Tape, error)
	Log  *slog.Logger // nil: slog's default

	limits *limits // nil: those of the protocol
}

// limits are what a plugin may use. Tests have shorter ones.
type limits struct {
	initialize time.Duration // for the answer to initialize
	hook       time.Duration // for an answer, unless the plugin lists another time
	long       time.Duration // for an answer of a tool, channel or command, likewise; for a model's next event
	cancel     time.Duration // for the answer to a call that was cancelled after its timeout; later, the plugin counts as hanging
	shutdown   time.Duration // for the answer to shutdown, and then for the exit
	pause      time.Duration // before the first restart within window; then four times as long each time
	line       int           // bytes of a message
	queue      int           // bytes of events that wait to be read
	stray      int           // lines of one process that are not messages; with so many, the plugin is turned off
	logged     int           // lines of standard error in a minute
}

// The limits of the protocol.
const (
	window      = time.Minute
	maxRestarts = 3  // within window
	maxRequests = 64 // of a plugin, at the same time
)

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.limits == nil {
		o.limits = &limits{
			initialize: time.Minute, hook: 5 * time.Second, long: time.Minute, cancel: 5 * time.Second,
			shutdown: 2 * time.Second, pause: 100 * time.Millisecond,
			line: 16 << 20, queue: 64 << 20, stray: 100, logged: 1000,
		}
	}
	if o.Tape == nil {
		o.Tape = func(context.Context, string) (*repo.Tape, error) { return nil, errors.New("there are no tapes here") }
	}
	return o
}
