// Package recorder imports the sessions of agents while they run.
//
// A hook leaves a note in the spool and starts a process that calls [Recorder.Run]. One such process
// works at a time. It reads what is new in the transcripts, for all workspaces side by side, until
// nothing is left to do. Notes only say that there is something new; the content comes from the
// transcript. So if a note is lost, entries only come later.
package recorder

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/spool"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Recorder has what recording needs from outside.
type Recorder struct {
	Formats importer.Formats
	Places  []string // as [spool.Places]
	FS      *disk.FS
	Now     func() time.Time
	// Version is tape's version, with its commit.
	Version string
	// Open opens the workspace in the folder dir, or creates it, for a project.
	Open func(ctx context.Context, dir, project string) (*repo.Store, error)
	// Push pushes a tape to the workspace's remote.
	Push func(ctx context.Context, store *repo.Store, tape string) error
	// Imported is called with the tape of each session that was read.
	Imported func(ctx context.Context, store *repo.Store, tape string) error
}

// lockFile is the file that a recorder locks while it works, so that only one works at a time.
const lockFile = "lock"

// Lock takes the recorder's lock; ok is false if another process has it.
func Lock(d *disk.FS, places []string) (unlock func() error, ok bool, err error) {
	for _, place := range places {
		if err = spool.Make(d, place); err != nil {
			continue
		}
		var l *disk.Lock
		l, err = d.Lock(context.Background(), filepath.Join(place, lockFile), 0)
		if errors.Is(err, disk.ErrLocked) {
			return nil, false, nil
		}
		if err == nil {
			return l.Unlock, true, nil
		}
	}
	return nil, false, err
}

// Run reads and pushes the sessions that notes name or that are still due; with every, it also reads all that
// may have something new. If another process is recording, Run leaves the notes to it and returns: each process
// looks for notes again after it has released the lock. With every, Run waits for the other process instead.
func (r *Recorder) Run(ctx context.Context, every bool) error {
	const pause = 20 * time.Millisecond
	for {
		unlock, ok, err := Lock(r.FS, r.Places)
		switch {
		case err != nil || !ok && !every:
			return err
		case !ok:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause):
			}
			continue
		}
		err = errors.Join(r.all(ctx, every), unlock())
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if waiting, err := spool.Notes(r.Places); err != nil || len(waiting) == 0 {
			return err
		}
	}
}

// run is the state of one Run. Only its own goroutine changes what is known about sessions; workers
// get copies.
type run struct {
	*Recorder
	known   map[string]*Session // by the names of their files
	due     map[string]bool     // the sessions to read, by the same names
	places  Places
	busy    map[string]bool // workspaces with a worker, and pushes that are under way
	results chan func() error
}

// all works until there are no notes and no workers. Each workspace has its own worker, so that a
// workspace that is locked by a long import does not delay the others.
func (r *Recorder) all(ctx context.Context, every bool) error {
	list, err := Sessions(r.Places)
	run := &run{Recorder: r, known: map[string]*Session{}, due: map[string]bool{}, busy: map[string]bool{}, results: make(chan func() error)}
	newest := map[string]bool{} // agents whose newest session was seen: tape record status shows that one
	for _, s := range list {
		name := sessionFile(s.Agent, s.ID)
		if newest[s.Agent] && s.past(r.Now()) {
			r.forget(name)
			continue
		}
		newest[s.Agent] = true
		run.known[name], run.due[name] = s, s.Due || s.PushDue || every && s.mayHaveMore(r.Now())
	}
	const first, longest = 20 * time.Millisecond, time.Second
	for pause := first; ; pause = min(2*pause, longest) {
		if ctx.Err() == nil && err == nil { // else a note that cannot be removed would be read again forever
			var absorbed bool
			if absorbed, err = run.absorb(ctx); absorbed {
				pause = first
			}
			run.start(ctx)
		}
		if len(run.busy) == 0 {
			return errors.Join(err, r.keepFailure(run.known))
		}
		select {
		case finish := <-run.results:
			err = errors.Join(err, finish())
		case <-time.After(pause):
		}
	}
}

// absorb updates what is known about sessions from their notes, except in workspaces with a worker.
// A note is removed once the update is durable. absorbed reports whether there were such notes.
func (r *run) absorb(ctx context.Context) (absorbed bool, err error) {
	list, err := spool.Notes(r.Places)
	var done []spool.Kept
	changed, failed := map[string]bool{}, map[string]bool{}
	for _, n := range list {
		p, parseErr := parse(n.Payload)
		if n.Torn || parseErr != nil {
			done = append(done, n) // unreadable; the next note of its session has the same effect
			continue
		}
		name := sessionFile(n.Agent, p.Session)
		s := r.known[name]
		if s == nil {
			s = &Session{Agent: n.Agent, ID: p.Session}
		}
		if r.busy[s.Workspace] || failed[name] {
			continue
		}
		moment := r.moment(n.Agent, p.Event)
		s.note(n.Note, p, moment)
		if transcript := jsonl.Get(n.Payload, "transcript"); transcript != nil {
			if keepErr := r.keepTranscript(s, transcript); keepErr != nil {
				err, failed[name] = errors.Join(err, keepErr), true
				continue // the note stays: nothing else has the transcript
			}
		}
		s.Workspace = r.workspace(ctx, s)
		r.known[name], r.due[name], changed[name] = s, true, true
		if moment == record.Start {
			r.lookAgain(s, changed)
		}
		done = append(done, n)
	}
	for name := range changed {
		if saveErr := r.known[name].save(r.FS, r.Places, r.Now()); saveErr != nil {
			return true, errors.Join(err, saveErr) // the notes stay
		}
	}
	return len(done) > 0, errors.Join(err, spool.Drop(r.FS, done))
}

// moment is what an event of an agent means.
func (r *Recorder) moment(agent, event string) record.Moment {
	return r.Formats.Find(agent).Moment(event)
}

// lookAgain marks an agent's other sessions as due if they did not end properly, or have grown since they
// were read.
func (r *run) lookAgain(started *Session, changed map[string]bool) {
	for name, s := range r.known {
		if s.Agent == started.Agent && s != started && !r.busy[s.Workspace] && s.mayHaveMore(r.Now()) {
			s.Due = true
			r.due[name], changed[name] = true, true
		}
	}
}

// start starts a worker for each workspace with sessions to read.
func (r *run) start(ctx context.Context) {
	byPlace := map[string][]*Session{}
	for name, due := range r.due {
		if s := r.known[name]; due && !r.busy[s.Workspace] {
			byPlace[s.Workspace] = append(byPlace[s.Workspace], s.clone())
			delete(r.due, name)
		}
	}
	for place, list := range byPlace {
		r.busy[place] = true
		go func() {
			for _, s := range list {
				r.catchUp(ctx, s)
			}
			r.results <- func() error { return r.finish(ctx, place, list) }
		}()
	}
}

// finish saves what a worker has done, and starts the pushes that were asked for.
func (r *run) finish(ctx context.Context, place string, list []*Session) (err error) {
	delete(r.busy, place)
	for _, s := range list {
		r.known[sessionFile(s.Agent, s.ID)] = s
		err = errors.Join(err, s.save(r.FS, r.Places, r.Now()))
		if s.PushDue && !s.Due && ctx.Err() == nil {
			r.push(ctx, s)
		}
	}
	return err
}

// push pushes a session's tapes in the background.
func (r *run) push(ctx context.Context, s *Session) {
	name, key := sessionFile(s.Agent, s.ID), "push "+s.Agent+" "+s.ID
	if r.busy[key] {
		return
	}
	r.busy[key] = true
	dir, project, tapes := s.Workspace, s.Project, s.tapes()
	go func() {
		store, err := r.Open(ctx, dir, project)
		for _, tape := range tapes {
			if err == nil {
				err = r.Push(ctx, store, tape)
			}
		}
		r.results <- func() error {
			delete(r.busy, key)
			s := r.known[name]
			s.PushDue, s.Refused = ctx.Err() != nil, ""
			if err != nil {
				s.Refused = err.Error()
			}
			return s.save(r.FS, r.Places, r.Now())
		}
	}()
}
