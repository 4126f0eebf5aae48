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

// Config is what the settings say of a plugin.
type Config struct {
	Name     string
	Command  []string // the program and its arguments; no shell
	Priority int
	Required bool            // without its decision, calls are denied
	Env      []string        // names of variables that it gets although they look secret
	Config   json.RawMessage // for the plugin itself
}

// Options are what plugins work with.
type Options struct {
	Host    string         // what the host calls itself: "tape 1.0"
	Project string         // the project's folder
	Dir     string         // where plugins are started; "": Project
	Keys    []string       // secrets that no plugin gets by a variable that it does not name
	Runtime *hooks.Runtime // whose tools plugins may call
	// Tape gives a session's tape. ctx is that of the hook within which the plugin asks.
	Tape func(ctx context.Context, session string) (*repo.Tape, error)
	Log  *slog.Logger // nil: slog's default

	limits *limits // nil: those of the protocol
}

// limits are what a plugin is held to. Tests have shorter ones.
type limits struct {
	initialize time.Duration // until it is ready
	hook       time.Duration // an answer, unless it asks for more
	long       time.Duration // an answer of a tool, channel or command; a model's next event
	cancel     time.Duration // what a time-out has cancelled has to be answered, or it hangs
	shutdown   time.Duration // the answer to shutdown, and then the end
	pause      time.Duration // before the first restart; then four times as long
	line       int           // bytes
	queue      int           // bytes that wait for whoever reads a stream
	stray      int           // lines that are no messages
	logged     int           // lines of standard error in a minute
}

// The limits of the protocol. Restarts are counted over a minute.
const (
	window   = time.Minute
	restarts = 3
	requests = 64 // of a plugin, at once
)

func (o Options) defaults() Options {
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
