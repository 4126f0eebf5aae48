package host

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"tape/internal/serve/host/api"
	"tape/internal/store/layout"
	"tape/repo"
)

// Uses of the server's own tapes, and their usual names. No run sees these tapes. They are made when they are
// first written to, so that a server that is only read leaves no tapes behind.
const (
	hostTape  = "host"
	auditTape = "audit"
)

// IsOwn reports whether a name belongs to a tape of the server, also one that is not made yet, or to a fork
// of such a tape, which a person may have begun.
func (o *ownTapes) IsOwn(name string) bool {
	name, _, _ = strings.Cut(name, "/")
	if name == hostTape || name == auditTape {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.byUse {
		if r.Name == name {
			return true
		}
	}
	return false
}

// EnsureConversation makes the tape of a new conversation. If there is a tape PARENT, PARENT/NAME is a
// fork, which must be open already.
func (o *ownTapes) EnsureConversation(ctx context.Context, name string) error {
	_, err := o.store.Tape(ctx, name)
	if !errors.Is(err, repo.ErrNotFound) {
		return err
	}
	if parent, fork, ok := layout.CutFork(name); ok {
		if _, err = o.store.Tape(ctx, parent); err == nil {
			return api.NewProblem(http.StatusNotFound, "not_found", "the conversation %.60q has no open fork %.60q: begin it with POST /v1/tapes/{tape}/fork, or give the new conversation another name", parent, fork)
		}
		if !errors.Is(err, repo.ErrNotFound) {
			return err
		}
	}
	_, err = o.store.CreateTape(ctx, name)
	if errors.Is(err, repo.ErrConflict) { // another process was faster
		_, err = o.store.Tape(ctx, name)
	}
	return err
}
