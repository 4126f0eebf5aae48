// Package continued keeps the list of agents' sessions that continue a tape with another name than their own: an
// import of such a session adds to that tape.
package continued

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

const (
	fileName = "continued" // a line for each session, in git's folder: agents keep their sessions on one machine
	lockName = "continued.lock"
)

// Event is the name of the event that a tape gets when it is continued in an agent's session. Its meta has the keys of
// all records that were written into that session, so that an import does not add them again.
const Event = "session.continued"

// Session is a session of an agent.
type Session struct {
	Agent string `json:"agent"` // the name of its format
	ID    string `json:"session"`
	Tape  string `json:"tape"` // that it continues
}

// List has the sessions of a workspace, the oldest first.
type List []Session

// Read reads the list from git's folder of a workspace.
func Read(git string) (out List, err error) {
	raw, err := os.ReadFile(filepath.Join(git, layout.PrivateDir, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(raw)) {
		var s Session
		if json.Unmarshal([]byte(line), &s) == nil {
			out = append(out, s)
		}
	}
	return out, layout.Classify(err)
}

// Of reads the list of a workspace.
func Of(s *workspace.Store) (List, error) { return Read(s.Git().GitDir()) }

// Tape returns the tape that a session of an agent continues, "" if the session is not in the list.
func (l List) Tape(agent, session string) string {
	for _, s := range l {
		if s.Agent == agent && s.ID == session {
			return s.Tape
		}
	}
	return ""
}

// With returns the sessions that continue a tape.
func (l List) With(tape string) (out List) {
	for _, s := range l {
		if s.Tape == tape {
			out = append(out, s)
		}
	}
	return out
}

// Add adds a session at the end of a workspace's list.
func Add(ctx context.Context, s *workspace.Store, one Session) error {
	unlock, err := s.LockPrivate(ctx, lockName)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	list, err := Of(s)
	if err != nil {
		return err
	}
	var text []byte
	for _, one := range append(list, one) {
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	return layout.Classify(s.FS().WriteFile(s.PrivatePath(fileName), text))
}
