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

// Session is what is known about a session of an agent from its hooks. It is identified by agent and id: its
// directory and workspace may move, and several sessions run side by side.
type Session struct {
	Agent     string    `json:"agent"`
	ID        string    `json:"session"`
	Workspace string    `json:"workspace,omitempty"` // its folder; "" if it is not known yet
	Project   string    `json:"project,omitempty"`
	Files     []File    `json:"files,omitempty"`
	Last      time.Time `json:"last"` // time of the last event
	Event     string    `json:"event"`
	Program   string    `json:"program,omitempty"` // version of tape that the last hook called
	Due       bool      `json:"due,omitempty"`     // it has to be read: there was an event, or the last reading failed
	Ended     bool      `json:"ended,omitempty"`
	Push      bool      `json:"push,omitempty"` // it is to be pushed when it ends
	PushDue   bool      `json:"push_due,omitempty"`
	Refused   string    `json:"refused,omitempty"` // why the last push failed
	Trouble   string    `json:"trouble,omitempty"` // why it could not be read
	Saved     time.Time `json:"saved"`
}

// File is one of a session's transcripts.
type File struct {
	Path     string    `json:"path"`
	Subagent bool      `json:"agent,omitempty"` // a subagent's
	Tape     string    `json:"tape,omitempty"`
	Bytes    int64     `json:"bytes"`          // its size when it was read
	Want     string    `json:"want,omitempty"` // the message that the last hook named, as JSON without quotes; "" if it is not awaited any more
	Until    time.Time `json:"until,omitzero"` // when to stop waiting: for Want, or for the last lines of an ended session
	Idle     bool      `json:"idle,omitempty"` // it was read at the end of a turn
	Complete bool      `json:"over,omitempty"` // it was read as complete: nothing was held back
	Gone     bool      `json:"gone,omitempty"` // it is missing, although it was read before or a hook named a message of it
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
// even the whole last turn. Only after that does an incomplete transcript count as complete.
const afterEnd = time.Second

// note updates the session from a hook's note.
func (s *Session) note(n spool.Note, p payload, moment record.Moment) {
	s.Last, s.Event, s.Program, s.Push = n.At, p.Event, n.Program, n.Push
	s.Ended = moment == record.End
	s.PushDue = s.Ended && n.Push
	s.Due = true
	s.Project = cmp.Or(s.Project, n.Project, p.Cwd)
	s.Workspace = cmp.Or(s.Workspace, n.Workspace)
	named := s.file(p.Transcript, p.AgentID != "" && p.AgentFile == "")
	if p.AgentFile != "" {
		named = s.file(p.AgentFile, true)
	}
	want := bytes.Trim(bytes.TrimSpace(p.Message), `"`)
	if named != nil && len(want) > 0 && string(want) != "null" {
		named.Want, named.Until = string(want), n.At.Add(wait)
	}
	for i := range s.Files {
		if s.Ended {
			s.Files[i].Until = n.At.Add(afterEnd)
		} else {
			s.Files[i].Complete = false
		}
		s.Files[i].Idle = false
	}
}

// file returns the session's file at a path, and adds it if it is new; nil if the path is not absolute.
func (s *Session) file(path string, agent bool) *File {
	if !filepath.IsAbs(path) {
		return nil
	}
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.Path == path })
	if i < 0 {
		i = len(s.Files)
		s.Files = append(s.Files, File{Path: path, Subagent: agent})
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

// forget removes what is known about a session from all places, and ignores errors.
func (r *Recorder) forget(name string) {
	for _, place := range r.Places {
		_ = r.FS.Remove(filepath.Join(place, sessionsDir, name))
	}
}

// Forget removes what is known about the sessions that were recorded on a tape, or that have one of
// the ids.
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

// save writes a session to the first place that can be written.
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

// tapes returns the names of the tapes that the session's transcripts were imported to, each once.
func (s *Session) tapes() (out []string) {
	for _, f := range s.Files {
		if f.Tape != "" && !slices.Contains(out, f.Tape) {
			out = append(out, f.Tape)
		}
	}
	return out
}

// maxAge is how long after its last event a session is still looked at.
const maxAge = 7 * 24 * time.Hour

// mayHaveMore reports whether a session may have something new: its last event is not too long ago, and it
// has not ended or a transcript has another size than when it was read.
func (s *Session) mayHaveMore(now time.Time) bool {
	return now.Sub(s.Last) < maxAge && (!s.Ended || slices.ContainsFunc(s.Files, func(f File) bool {
		size, _, err := importer.Stat(f.Path)
		return err == nil && size != f.Bytes
	}))
}

// past reports whether nothing more is expected of a session, and there is nothing to report about it.
func (s *Session) past(now time.Time) bool {
	return now.Sub(s.Last) > maxAge && !s.Due && !s.PushDue && s.Trouble == "" && s.Refused == ""
}
