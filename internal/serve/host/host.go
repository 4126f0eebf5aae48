// Package host serves a workspace to agents that manage their own context, over HTTP and JSON: it
// stores what happens, and each agent decides what its model sees. The server and its OpenAPI document
// are both made from one table, in routes.go.
package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"tape/internal/git/disk"
	"tape/internal/serve/front"

	"tape/repo"
)

// Options say what is served, and to whom.
type Options struct {
	Store   *repo.Store
	Token   string           // the admin's
	Version string           // of the program
	Handler http.Handler     // everything outside of /v1; nil: 404. May be set until Serve is called
	Front   *front.Front     // the server's names and its proxies; nil: the names of this machine, and no proxy
	Log     *slog.Logger     // nil: nothing is logged
	Now     func() time.Time // nil: the clock
}

// Server answers the requests of all clients.
type Server struct {
	Options
	mux     *http.ServeMux
	cursors front.Signer
	admin   [sha256.Size]byte
	mask    *Masker
	runs    runList
	audit   *auditLog
	disk    *disk.FS
	own     *ownTapes
	limits  *front.Limits
	ending  chan struct{} // closed when streams must end
	queues  tapeQueues
}

// New returns a server of a workspace. It continues the runs of earlier servers.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{Options: o, admin: sha256.Sum256([]byte(o.Token)), disk: disk.WithPermissionsOf(o.Store.Dir()), ending: make(chan struct{}), limits: front.NewLimits()}
	if s.Front == nil {
		s.Front = &front.Front{}
	}
	s.audit = newAuditLog(o.Now, o.Log, s.writeAudit)
	for _, folder := range []string{"runs", "waiting", "lanes"} {
		if err := s.disk.MkdirAll(s.private(folder)); err != nil {
			return nil, err
		}
	}
	s.queues.Dir, s.queues.Disk = s.private("lanes"), s.disk
	var err error
	adopt := []string{hostTape, auditTape}
	if _, err := os.Stat(s.private("cursor.key")); err != nil {
		adopt = nil // there was no server before
	}
	if s.own, err = openOwn(ctx, o.Store, s.disk, s.private("tapes.json"), adopt); err != nil {
		return nil, err
	}
	if s.cursors, err = front.LoadSigner(s.disk, s.private("cursor.key")); err != nil {
		return nil, err
	}
	marks, err := o.Store.MarkKey()
	if err != nil {
		return nil, err
	}
	s.mask = newMasker(marks)
	if err := s.runs.Load(s.disk, s.private("runs"), o.Now(), o.Log); err != nil {
		return nil, err
	}
	s.mux = s.newMux()
	return s, nil
}

func (s *Server) private(elem ...string) string {
	return s.Store.UsersPath(append([]string{"host"}, elem...)...)
}

// Secret returns a text that nobody can guess, one for each purpose. Later servers of this workspace return the
// same.
func (s *Server) Secret(purpose string) string {
	return hex.EncodeToString(s.cursors.Sign("secret of " + purpose)[:16])
}

// KeepConn keeps the connection of a browser that is logged in from being closed during a request when there
// are many.
func (s *Server) KeepConn(r *http.Request) { front.KeepConn(r.Context()) }

// Note records in the audit what a browser did, or, if done is false, tried and was refused.
func (s *Server) Note(action, resource string, done bool) {
	r := auditRecord{By: "browser", Action: action, Resource: resource, Result: auditOK}
	if !done {
		r.Result = "refused"
	}
	s.audit.Add(r)
}

// writeAudit appends to the audit's tape.
func (s *Server) writeAudit(ctx context.Context, drafts []repo.Draft) error {
	t, err := s.own.Make(ctx, auditTape)
	if err == nil {
		_, err = t.Append(ctx, nil, drafts...)
	}
	return err
}

// background writes the audit, records the end of runs whose deadline has passed, and forgets old runs.
func (s *Server) background(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { s.audit.Run(ctx) })
	both.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			if err := s.runs.Forget(s.Now()); err != nil {
				s.Log.Error("old runs were not removed", "error", err)
			}
			for _, r := range s.runs.Due(s.Now()) {
				if err := s.expire(ctx, r); err != nil && ctx.Err() == nil {
					s.Log.Error("a run's end was not recorded", "run", r.ID, "error", err)
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

const drainTimeout = 10 * time.Second

// Serve answers requests until ctx ends or a listener fails, and then those that have begun, for at most
// drainTimeout. It ends streams at once.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	web := &http.Server{Handler: s, ReadHeaderTimeout: front.HeaderTime, IdleTimeout: front.IdleTime, MaxHeaderBytes: 64 << 10,
		ConnContext: front.WithConn, ConnState: front.ConnState, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn)}
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	written := make(chan struct{})
	go func() { defer close(written); s.background(writing) }()
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- web.Serve(front.Listen(l, front.MaxConns)) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	close(s.ending)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if e := web.Shutdown(drain); e != nil && err == nil {
		err = errors.Join(e, web.Close())
	}
	stop()
	<-written
	return errors.Join(err, s.audit.Flush(drain))
}
