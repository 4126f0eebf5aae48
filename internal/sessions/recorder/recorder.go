// Package recorder catches up with sessions of agents while they run.
//
// A hook leaves a note in the spool and starts a process that calls [Recorder.Run]. There is one
// at a time: it reads what the transcripts have got, of all workspaces side by side, until
// nothing is left to do. What a session's content is, its transcript tells; notes only say that
// there is something new. So a lost note costs time, and nothing else.
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
	// Version is the program's, with its commit.
	Version string
	// Open opens the workspace of a folder, or makes it, for a project.
	Open func(ctx context.Context, dir, project string) (*repo.Store, error)
	// Push sends a tape to where the workspace's tapes go.
	Push func(ctx context.Context, store *repo.Store, tape string) error
	// Imported is told which tape a session has gone to.
	Imported func(ctx context.Context, store *repo.Store, tape string) error
}

// lockFile is held by the one that catches up.
const lockFile = "lock"

// Lock takes the lock of what catches up; ok is false while another one has it.
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

// Run catches up with everything that was noted, or with every session that may have got more. Where
// another one is at work, all is waited for; notes are left to that one, which therefore looks again after
// it has let go.
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

// run is one time of catching up. It alone changes what is known of sessions: workers get copies.
type run struct {
	*Recorder
	known   map[string]*Session // by the names of their files
	due     map[string]bool     // of them, those to be read in this run
	busy    map[string]bool     // workspaces with somebody at work, and those that somebody pushes
	results chan func() error
}

// all catches up until there are no notes and nobody is at work. Each workspace has its own
// worker: one that is locked by a long import holds up no other.
func (r *Recorder) all(ctx context.Context, every bool) error {
	list, err := Sessions(r.Places)
	run := &run{Recorder: r, known: map[string]*Session{}, due: map[string]bool{}, busy: map[string]bool{}, results: make(chan func() error)}
	newest := map[string]bool{} // of an agent, which tape record status shows
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
		if ctx.Err() == nil && err == nil { // a note that cannot be dropped would come again for ever
			var some bool
			if some, err = run.absorb(ctx); some {
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

// absorb takes the notes into what is known of their sessions, but for those of workspaces with
// somebody at work. A note is dropped once that is durable.
func (r *run) absorb(ctx context.Context) (some bool, err error) {
	list, err := spool.Notes(r.Places)
	var taken []spool.Kept
	changed := map[string]bool{}
	for _, n := range list {
		p, parseErr := parse(n.Payload)
		if n.Torn || parseErr != nil {
			taken = append(taken, n) // it tells nothing; the next one of its session does
			continue
		}
		name := sessionFile(n.Agent, p.Session)
		s := r.known[name]
		if s == nil {
			s = &Session{Agent: n.Agent, ID: p.Session}
		}
		if r.busy[s.Workspace] {
			continue
		}
		is := r.moment(n.Agent, p.Event)
		s.note(n.Note, p, is)
		if transcript := jsonl.Get(n.Payload, "transcript"); transcript != nil {
			err = errors.Join(err, r.keepTranscript(s, transcript))
		}
		s.Workspace = r.workspace(ctx, s)
		r.known[name], r.due[name], changed[name] = s, true, true
		if is == record.Start {
			r.lookAgain(s, changed)
		}
		taken = append(taken, n)
	}
	for name := range changed {
		if saveErr := r.known[name].save(r.FS, r.Places, r.Now()); saveErr != nil {
			return true, errors.Join(err, saveErr) // the notes stay
		}
	}
	return len(taken) > 0, errors.Join(err, spool.Drop(r.FS, taken))
}

// moment is what an event means to an agent.
func (r *Recorder) moment(agent, event string) record.Moment {
	return r.Formats.Find(agent).Moment(event)
}

// lookAgain has the other sessions of an agent read whose end was never told of, or that have got more since.
func (r *run) lookAgain(started *Session, changed map[string]bool) {
	for name, s := range r.known {
		if s.Agent == started.Agent && s != started && !r.busy[s.Workspace] && s.mayHaveMore(r.Now()) {
			s.Due = true
			r.due[name], changed[name] = true, true
		}
	}
}

// start gives each workspace that has sessions to be read a worker of its own.
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

// finish keeps what a worker has done, and has what was asked for pushed.
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

// push sends a session's tapes away, beside what else there is to do.
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
