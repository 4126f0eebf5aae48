package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/workspace"
	"tape/repo"
)

// EndedAfter is how long a transcript must stay unchanged before its session counts as ended
// without an event: its agent was killed, or its terminal closed.
const EndedAfter = 10 * time.Minute

// catchUp reads what is new in a session's transcripts.
func (r *Recorder) catchUp(ctx context.Context, s *Session) {
	err := r.read(ctx, s)
	if ctx.Err() != nil {
		return // the session stays due
	}
	// A failure is tried again with the next event.
	s.Due, s.Trouble = err != nil, ""
	if err != nil {
		s.Trouble = err.Error()
	}
}

func (r *Recorder) read(ctx context.Context, s *Session) error {
	var failed []error
	var store *repo.Store
	r.findSubagents(s)
	for i := range s.Files {
		f := &s.Files[i]
		err := r.readFile(ctx, s, f, func() (*repo.Store, error) {
			var err error
			if store == nil {
				store, err = r.Open(ctx, s.Workspace, s.Project)
			}
			return store, err
		})
		if err != nil {
			failed = append(failed, err)
		}
	}
	if tapes := s.tapes(); store != nil && len(tapes) > 0 {
		if err := r.Imported(ctx, store, tapes[0]); !errors.Is(err, repo.ErrNotFound) { // before the first request there is no tape
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// readFile imports what is new in a transcript. Until f.Until it waits for the message that a hook has named, or
// for the last lines of an ended session.
func (r *Recorder) readFile(ctx context.Context, s *Session, f *File, open func() (*repo.Store, error)) error {
	const pause = 20 * time.Millisecond
	for {
		timeUp := r.Now().After(f.Until)
		hasWanted := f.Want == "" || contains(f.Path, r.answerPrefix(s.Agent)+f.Want)
		size, modified, err := importer.Stat(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// Agents create it late, and some never do.
		case err != nil:
			return err
		default:
			over := s.Ended && timeUp || r.Now().Sub(modified) > EndedAfter
			idle := hasWanted && r.moment(s.Agent, s.Event) == record.TurnEnd
			if size != f.Bytes || over && !f.Complete || !f.Idle && idle {
				if err := r.importFile(ctx, s, f, importer.Live{TurnEnded: idle, SessionEnded: over}, open); err != nil {
					return err
				}
				f.Bytes, f.Complete, f.Idle = size, over, idle
			}
		}
		if hasWanted && !s.Ended || timeUp {
			f.Gone = err != nil && (f.Bytes > 0 || f.Want != "")
			f.Want = ""
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// answerPrefix returns what stands before the text of a model's last answer in an agent's transcripts, see
// [record.Agent].
func (r *Recorder) answerPrefix(agent string) string {
	if f := r.Formats.Find(agent); f != nil && f.Agent != nil {
		return f.Agent.AnswerPrefix
	}
	return ""
}

func (r *Recorder) importFile(ctx context.Context, s *Session, f *File, live importer.Live, open func() (*repo.Store, error)) error {
	store, err := open()
	if err != nil {
		return err
	}
	live.Formats, live.Format, live.Version = r.Formats, s.Agent, r.Version
	res, err := importer.Continue(ctx, store, f.Path, live)
	if err != nil {
		return err
	}
	if f.Tape = res.Tape; res.Forgotten {
		f.Tape = ""
	}
	return nil
}

// findSubagents adds the transcripts of subagents that lie beside a session's own: no hook reports a
// subagent that is killed.
func (r *Recorder) findSubagents(s *Session) {
	format := r.Formats.Find(s.Agent)
	if format == nil {
		return
	}
	for _, f := range s.Files {
		if f.Subagent {
			continue
		}
		for _, path := range format.Files.OfSubagents(f.Path, s.ID) {
			if r.Formats.IsTranscript(path) {
				s.file(path, true)
			}
		}
	}
}

// workspace is the folder of a session's workspace. It stays the same if the project is moved, or the
// agent works in another directory later.
func (r *run) workspace(ctx context.Context, s *Session) string {
	if s.Workspace != "" && workspace.IsWorkspace(s.Workspace) {
		return s.Workspace
	}
	dir, _, err := r.places.Of(ctx, s.Agent, append(s.tapes(), s.ID)[0], s.Project, "")
	if err != nil {
		return s.Workspace
	}
	return dir
}

// keepTranscript writes a transcript that an agent's plugin sends because the agent writes none.
func (r *Recorder) keepTranscript(s *Session, raw []byte) error {
	dir := filepath.Join(r.Places[0], "transcripts")
	path := filepath.Join(dir, sessionFile(s.Agent, s.ID))
	if err := r.FS.MkdirAll(dir); err != nil {
		return err
	}
	if err := r.FS.WriteFile(path, append(raw, '\n')); err != nil {
		return err
	}
	s.file(path, false).Bytes = 0 // read it even if it is as long as before
	return nil
}

// failureFile has a line that the next command on a terminal shows.
const failureFile = "failure"

// keepFailure writes what went wrong to a file, for the next command that a person runs. If nothing did, it
// removes the file.
func (r *Recorder) keepFailure(known map[string]*Session) error {
	count := 0
	var last *Session
	for _, s := range known {
		if s.Trouble == "" && s.Refused == "" {
			continue
		}
		if count++; last == nil || s.Last.After(last.Last) {
			last = s
		}
	}
	for _, place := range r.Places {
		path := filepath.Join(place, failureFile)
		if count == 0 {
			if err := r.FS.Remove(path); err != nil {
				return err
			}
			continue
		}
		text := cmp.Or(last.Trouble, "not pushed: "+last.Refused)
		line := fmt.Sprintf("%s session %s: %s\n", last.Agent, last.ID, strings.Join(strings.Fields(text), " "))
		if r.FS.WriteFile(path, []byte(line)) == nil {
			return nil
		}
	}
	return nil
}

// TakeFailure returns the line about what went wrong in the background, and removes it; "" if there is none.
func TakeFailure(places []string) string {
	for _, place := range places {
		path := filepath.Join(place, failureFile)
		if raw, err := os.ReadFile(path); err == nil {
			_ = os.Remove(path)
			return strings.TrimSpace(string(raw))
		}
	}
	return ""
}
