package projects

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

// ContinuedSession is a session of an agent.
type ContinuedSession struct {
	Agent string `json:"agent"` // the name of its format
	ID    string `json:"session"`
	Tape  string `json:"tape"` // that it continues
}

// ContinuedList has the sessions of a workspace, the oldest first.
type ContinuedList []ContinuedSession

// ReadContinued reads the list from git's folder of a workspace.
func ReadContinued(git string) (out ContinuedList, err error) {
	raw, err := os.ReadFile(filepath.Join(git, layout.PrivateDir, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(raw)) {
		var s ContinuedSession
		if json.Unmarshal([]byte(line), &s) == nil {
			out = append(out, s)
		}
	}
	return out, layout.Classify(err)
}

// ContinuedIn reads the list of a workspace.
func ContinuedIn(s *workspace.Store) (ContinuedList, error) { return ReadContinued(s.Git().GitDir()) }

// Tape returns the tape that a session of an agent continues, "" if the session is not in the list.
func (l ContinuedList) Tape(agent, session string) string {
	for _, s := range l {
		if s.Agent == agent && s.ID == session {
			return s.Tape
		}
	}
	return ""
}

// With returns the sessions that continue a tape.
func (l ContinuedList) With(tape string) (out ContinuedList) {
	for _, s := range l {
		if s.Tape == tape {
			out = append(out, s)
		}
	}
	return out
}

// AddContinued adds a session at the end of a workspace's list.
func AddContinued(ctx context.Context, s *workspace.Store, one ContinuedSession) error {
	unlock, err := s.LockPrivate(ctx, lockName)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	list, err := ContinuedIn(s)
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
