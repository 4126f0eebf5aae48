package recorder

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/spool"
)

// Session is what is known about a session of an agent from its hooks. It is identified by its id: its
// directory and workspace may move, and several run side by side.
type Session struct {
	Agent     string    `json:"agent"`
	ID        string    `json:"session"`
	Workspace string    `json:"workspace,omitempty"` // the folder; "" until it was read first
	Project   string    `json:"project,omitempty"`
	Files     []File    `json:"files,omitempty"`
	Last      time.Time `json:"last"` // time of the last event
	Event     string    `json:"event"`
	Program   string    `json:"program,omitempty"` // version of tape that the last event called
	Due       bool      `json:"due,omitempty"`     // there was an event since it was read
	Ended     bool      `json:"ended,omitempty"`
	Push      bool      `json:"push,omitempty"` // at the end
	PushDue   bool      `json:"push_due,omitempty"`
	Refused   string    `json:"refused,omitempty"` // why the last push failed
	Trouble   string    `json:"trouble,omitempty"` // why it could not be read
	Saved     time.Time `json:"saved"`
}

// File is one of a session's transcripts.
type File struct {
	Path  string    `json:"path"`
	Agent bool      `json:"agent,omitempty"` // a subagent's
	Tape  string    `json:"tape,omitempty"`
	Bytes int64     `json:"bytes"`          // its size when it was read
	Want  string    `json:"want,omitempty"` // the message that it must have according to the last hook, as JSON
	Until time.Time `json:"until,omitzero"` // how long to wait for that
	Idle  bool      `json:"idle,omitempty"` // it was read at the end of a turn
	Over  bool      `json:"over,omitempty"` // it was read to its end
	Gone  bool      `json:"gone,omitempty"` // it is not there, although a turn has ended
}

const sessionsDir = "sessions"

// payload is the part of a hook's input that recording uses.
type payload struct {
	Session    string          `json:"session_id"`
	Transcript string          `json:"transcript_path"`
	Event      string          `json:"hook_event_name"`
	Cwd        string          `json:"cwd"`
	AgentID    string          `json:"agent_id"`
	AgentFile  string          `json:"agent_transcript_path"`
	Message    json.RawMessage `json:"last_assistant_message"`
}

func parse(raw []byte) (p payload, err error) {
	if err = json.Unmarshal(raw, &p); err == nil && p.Session == "" {
		err = errors.New("it names no session")
	}
	return p, err
}

// wait is how long to wait for a message that a hook has named and the transcript does not have yet.
const wait = 2 * time.Second

// afterEnd is how long a transcript is watched after its session has ended: some agents still write to it then, Copilot
// even the whole last turn. Only then does an incomplete transcript count as complete.
const afterEnd = time.Second

// note updates the session from a hook's note.
func (s *Session) note(n spool.Note, p payload, is record.Moment) {
	s.Last, s.Event, s.Program, s.Push = n.At, p.Event, n.Program, n.Push
	s.Ended = is == record.End
	s.PushDue = s.Ended && n.Push
	s.Due = true
	s.Project = cmp.Or(s.Project, n.Project, p.Cwd)
	s.Workspace = cmp.Or(s.Workspace, n.Workspace)
	of := s.file(p.Transcript, p.AgentID != "" && p.AgentFile == "")
	if p.AgentFile != "" {
		of = s.file(p.AgentFile, true)
	}
	want := bytes.Trim(bytes.TrimSpace(p.Message), `"`)
	if of != nil && len(want) > 0 && string(want) != "null" {
		of.Want, of.Until = string(want), n.At.Add(wait)
	}
	for i := range s.Files {
		if s.Ended {
			s.Files[i].Until = n.At.Add(afterEnd)
		} else {
			s.Files[i].Over = false
		}
		s.Files[i].Idle = false
	}
}

// file returns the session's file at an absolute path, nil for any other.
func (s *Session) file(path string, agent bool) *File {
	if !filepath.IsAbs(path) {
		return nil
	}
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.Path == path })
	if i < 0 {
		i = len(s.Files)
		s.Files = append(s.Files, File{Path: path, Agent: agent})
	}
	return &s.Files[i]
}

// sessionFile is the name of a session's file: a hash, because ids come from outside.
func sessionFile(agent, id string) string {
	sum := sha256.Sum256([]byte(agent + "\x00" + id))
	return fmt.Sprintf("%x.json", sum[:12])
}

// Sessions returns all known sessions, those with the latest events first.
func Sessions(places []string) (out []*Session, err error) {
	byName := map[string]*Session{}
	for _, place := range places {
		dir := filepath.Join(place, sessionsDir)
		list, readErr := os.ReadDir(dir)
		if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
			err = errors.Join(err, readErr)
		}
		for _, e := range list {
			if !strings.HasSuffix(e.Name(), ".json") {
				continue
			}
			s := &Session{}
			raw, readErr := os.ReadFile(filepath.Join(dir, e.Name()))
			if readErr == nil {
				readErr = json.Unmarshal(raw, s)
			}
			if readErr != nil || s.ID == "" {
				continue // the next note of that session creates it again
			}
			if was := byName[e.Name()]; was == nil || was.Saved.Before(s.Saved) {
				byName[e.Name()] = s
			}
		}
	}
	for _, s := range byName {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *Session) int { return b.Last.Compare(a.Last) })
	return out, err
}

// forget removes what is known about a session, as far as that is possible.
func (r *Recorder) forget(name string) {
	for _, place := range r.Places {
		_ = r.FS.Remove(filepath.Join(place, sessionsDir, name))
	}
}

// Forget removes what is known about the sessions that went to a tape, or that have one of some ids.
func Forget(places []string, tape string, ids []string) error {
	known, err := Sessions(places)
	if err != nil {
		return err
	}
	for _, s := range known {
		if !slices.Contains(s.tapes(), tape) && !slices.Contains(ids, s.ID) {
			continue
		}
		for _, place := range places {
			err := os.Remove(filepath.Join(place, sessionsDir, sessionFile(s.Agent, s.ID)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// save writes a session in the first place that can be written.
func (s *Session) save(d *disk.FS, places []string, now time.Time) error {
	s.Saved = now
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	var failed []error
	for _, place := range places {
		dir := filepath.Join(place, sessionsDir)
		err := spool.Make(d, place)
		if err == nil {
			err = d.MkdirAll(dir)
		}
		if err == nil {
			err = d.WriteFile(filepath.Join(dir, sessionFile(s.Agent, s.ID)), append(raw, '\n'))
		}
		if err == nil {
			return nil
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// contains reports whether the end of a transcript has a text, as JSON spells it.
func contains(path, text string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false
	}
	const tail = 256 << 10
	from := max(0, st.Size()-int64(tail+2*len(text)))
	end := make([]byte, st.Size()-from)
	n, _ := f.ReadAt(end, from)
	return bytes.Contains(end[:n], []byte(text))
}

// clone is a copy that shares nothing.
func (s *Session) clone() *Session {
	c := *s
	c.Files = slices.Clone(s.Files)
	return &c
}

// tapes are those that the session has gone to; a subagent's is below its session's.
func (s *Session) tapes() (out []string) {
	for _, f := range s.Files {
		if f.Tape != "" && !slices.Contains(out, f.Tape) {
			out = append(out, f.Tape)
		}
	}
	return out
}

// forgotten is how long after its last event a session is still looked at.
const forgotten = 7 * 24 * time.Hour

// mayHaveMore reports whether a session has not ended, or a transcript has another size than when it was
// read.
func (s *Session) mayHaveMore(now time.Time) bool {
	return now.Sub(s.Last) < forgotten && (!s.Ended || slices.ContainsFunc(s.Files, func(f File) bool {
		size, _, err := importer.Stat(f.Path)
		return err == nil && size != f.Bytes
	}))
}

// past reports whether nothing more is expected of a session, and there is nothing to report about it.
func (s *Session) past(now time.Time) bool {
	return now.Sub(s.Last) > forgotten && !s.Due && !s.PushDue && s.Trouble == "" && s.Refused == ""
}
