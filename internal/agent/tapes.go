package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"tape/internal/store/layout"
	"tape/repo"
)

// TapeName returns the name of a session's tape: its id, or a slug of it if the id has a slash, as a fork's name has,
// or is no valid name.
func TapeName(session string) string {
	if strings.Contains(session, "/") || layout.CheckName("a tape", session) != nil {
		return layout.TapeSlug(session)
	}
	return session
}

// tape returns a session's tape, and creates it if there is none.
func (a *agent) tape(ctx context.Context, session string) (*repo.Tape, error) {
	store, err := a.Runtime.TapeStore(ctx)
	if err != nil {
		return nil, err
	}
	name := TapeName(session)
	t, err := store.Tape(ctx, name)
	if !errors.Is(err, repo.ErrNotFound) {
		return t, err
	}
	t, err = store.CreateTape(ctx, name)
	if errors.Is(err, repo.ErrConflict) { // another process was faster
		return store.Tape(ctx, name)
	}
	if err == nil && a.Project != "" {
		var facts json.RawMessage
		if facts, err = encoded(map[string]string{"agent": "tape", "cwd": a.Project}); err == nil {
			_, err = t.Append(ctx, nil, repo.Event(eventSession, facts))
		}
	}
	return t, err
}

// eventSession is the name of the event that says what a session is about, as in imported sessions.
const eventSession = "session_meta"

type turnKey struct{}

// TapeOf returns the tape on which a tool is called: the session's, or a subagent's fork.
func TapeOf(ctx context.Context) (*repo.Tape, error) {
	if r, ok := ctx.Value(turnKey{}).(*turn); ok {
		return r.tape, nil
	}
	return nil, errors.New("there is no tape: no turn runs")
}
