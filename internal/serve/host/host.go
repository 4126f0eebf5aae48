// Package host serves a workspace to agents that manage their own context, over HTTP and JSON:
// it keeps the facts, and each agent decides what its model sees. Paths, parameters and forms
// are in one table, routes.go, of which both the server and its OpenAPI document are made.
package host

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"tape/internal/git/disk"
	"tape/internal/serve/host/admission"
	"tape/internal/serve/host/api"
	"tape/internal/serve/host/auditlog"
	"tape/internal/serve/host/cursors"
	"tape/internal/serve/host/lanes"
	"tape/internal/serve/host/mask"
	"tape/internal/serve/host/own"
	"tape/internal/serve/host/runs"
	"tape/internal/store/layout"
	"tape/repo"
)

// Options say what is served, and to whom.
type Options struct {
	Store   *repo.Store
	Token   string       // the admin's
	Version string       // of the program
	Handler http.Handler // everything outside of /v1; nil is 404. It may be set until Serve is called
	Log     *slog.Logger
	Now     func() time.Time // nil is the clock
}

// The tapes of the server itself, which no run sees. They are made when they are first written to:
// who only looks at pages leaves nothing behind.
const (
	hostTape  = "host"
	auditTape = "audit"
)

// Server answers the requests of all clients.
type Server struct {
	Options
	mux     *http.ServeMux
	cursors cursors.Signer
	admin   [sha256.Size]byte
	mask    *mask.Masker
	runs    runs.List
	audit   *auditlog.Log
	disk    *disk.FS
	own     *own.Tapes
	limits  *admission.Limits
	ending  chan struct{} // closed when streams have to end
	lanes   lanes.Lanes
}

// New makes a server and reads the runs that are not over.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{Options: o, admin: sha256.Sum256([]byte(o.Token)), disk: disk.Like(o.Store.Dir()), ending: make(chan struct{}), limits: admission.New()}
	s.audit = auditlog.New(o.Now, o.Log, s.writeAudit)
	for _, folder := range []string{"runs", "waiting", "lanes"} {
		if err := s.disk.MkdirAll(s.private(folder)); err != nil {
			return nil, err
		}
	}
	s.lanes.Dir, s.lanes.Disk = s.private("lanes"), s.disk
	var err error
	adopt := []string{hostTape, auditTape}
	if _, err := os.Stat(s.private("cursor.key")); err != nil {
		adopt = nil // there was no server before
	}
	if s.own, err = own.Open(ctx, o.Store, s.disk, s.private("tapes.json"), adopt); err != nil {
		return nil, err
	}
	if s.cursors.Key, err = s.signingKey(); err != nil {
		return nil, err
	}
	marks, err := o.Store.MarkKey()
	if err != nil {
		return nil, err
	}
	s.mask = mask.New(marks)
	if err := s.runs.Load(s.disk, s.private("runs"), o.Now(), o.Log); err != nil {
		return nil, err
	}
	s.mux = s.newMux()
	return s, nil
}

func (s *Server) private(elem ...string) string {
	return s.Store.UsersPath(append([]string{"host"}, elem...)...)
}

// signingKey is kept, so that cursors outlive the server.
func (s *Server) signingKey() ([]byte, error) {
	path := s.private("cursor.key")
	key, err := os.ReadFile(path)
	if err == nil && len(key) == sha256.Size {
		return key, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key = make([]byte, sha256.Size)
	rand.Read(key)
	return key, s.disk.WriteFile(path, key)
}

// Secret is a text that nobody can guess, and that is the same for the next server of this workspace.
func (s *Server) Secret(purpose string) string {
	return hex.EncodeToString(s.cursors.Sign("secret of " + purpose)[:16])
}

// Known keeps the connection of a browser that has a session.
func (s *Server) KeepConn(r *http.Request) { admission.KeepConn(r.Context()) }

// Note records in the audit what a browser did.
func (s *Server) Note(action, resource string, done bool) {
	r := auditlog.Record{By: "browser", Action: action, Resource: resource, Result: auditlog.OK}
	if !done {
		r.Result = "refused"
	}
	s.audit.Add(r)
}

// ensureTape returns a tape, which is made if it is not there yet.
func (s *Server) ensureTape(ctx context.Context, name string) (*repo.Tape, error) {
	if name == hostTape || name == auditTape {
		return s.own.Make(ctx, name)
	}
	t, err := s.Store.Tape(ctx, name)
	if !errors.Is(err, repo.ErrNotFound) {
		return t, err
	}
	t, err = s.Store.CreateTape(ctx, name)
	if errors.Is(err, repo.ErrConflict) { // somebody else made it
		return s.Store.Tape(ctx, name)
	}
	return t, err
}

// ensureConversation makes the tape of a conversation that is not there yet. PARENT/NAME is a fork
// where there is a tape PARENT, and then it is not made: a run begins on a fork that is open.
func (s *Server) ensureConversation(ctx context.Context, name string) error {
	parent, fork, ok := layout.CutFork(name)
	if ok {
		_, err := s.Store.Tape(ctx, name)
		if !errors.Is(err, repo.ErrNotFound) {
			return err
		}
		if _, err = s.Store.Tape(ctx, parent); err == nil {
			return api.NewProblem(http.StatusNotFound, "not_found", "the conversation %.60q has no open fork %.60q: begin it with POST /v1/tapes/{tape}/fork, or give the new conversation another name", parent, fork)
		}
		if !errors.Is(err, repo.ErrNotFound) {
			return err
		}
	}
	_, err := s.ensureTape(ctx, name)
	return err
}

// isOwn reports whether a name is that of a tape of the server, or may become one. A fork, which a
// person may have begun to look at something, has all of its tape.
func (s *Server) isOwn(name string) bool {
	name, _, _ = strings.Cut(name, "/")
	return name == hostTape || name == auditTape || s.own.Has(name)
}

// writeAudit appends to the tape of the audit.
func (s *Server) writeAudit(ctx context.Context, drafts []repo.Draft) error {
	t, err := s.ensureTape(ctx, auditTape)
	if err == nil {
		_, err = t.Append(ctx, nil, drafts...)
	}
	return err
}

// background does what nobody asks for: it writes the audit, and records the end of runs whose
// deadline has passed.
func (s *Server) background(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { s.audit.Run(ctx) })
	both.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			for _, r := range s.runs.Due(s.Now()) {
				if err := s.expire(ctx, r); err != nil && ctx.Err() == nil {
					s.Log.Error("a run's end is not recorded", "run", r.ID, "error", err)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	both.Wait()
}

const drainWithin = 10 * time.Second

// Serve answers requests until the context ends, and then those that it has begun with.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	web := &http.Server{Handler: s, ReadHeaderTimeout: admission.HeaderTime, IdleTimeout: admission.IdleTime, MaxHeaderBytes: 64 << 10,
		ConnContext: admission.WithConn, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn)}
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	written := make(chan struct{})
	go func() { defer close(written); s.background(writing) }()
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- web.Serve(admission.Listen(l, admission.MaxConns)) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	close(s.ending)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWithin)
	defer cancel()
	if e := web.Shutdown(drain); e != nil && err == nil {
		err = errors.Join(e, web.Close())
	}
	stop()
	<-written
	return errors.Join(err, s.audit.Flush(drain))
}
