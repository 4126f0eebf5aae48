package query

import (
	"context"
	"errors"
	"strings"

	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// IsHostTape reports whether a tape is one that tape serve keeps for itself (the shared state or the
// audit), or a fork of one. People may use the same names, so the first entry that is no anchor decides.
func IsHostTape(ctx context.Context, t *workspace.Tape) (is bool, err error) {
	for t.IsFork() {
		t, err = t.Store().Tape(ctx, t.Parent())
		if errors.Is(err, layout.ErrNotFound) {
			return false, nil // a fork can outlive its parent
		}
		if err != nil {
			return false, err
		}
	}
	use := strings.TrimRight(t.Name(), "0123456789")
	if use != t.Name() {
		use = strings.TrimSuffix(use, "-")
	}
	if use != "host" && use != "audit" {
		return false, nil
	}
	v, err := snapshot.Take(ctx, t)
	if err != nil {
		return false, err
	}
	n := 0
	err = (&snapshot.Walk{V: v, Tape: t.Name(), First: 0, Last: len(v.List) - 1}).Read(ctx, func(e layout.Entry) bool {
		n++
		switch {
		case e.Kind == layout.KindAnchor:
			return n < 10
		case use == "audit":
			is = e.Kind == "audit"
		default:
			is = e.Kind == "state" || e.Kind == layout.KindEvent && jsonl.GetString(e.Payload, "name") == "host.request"
		}
		return false
	})
	return is, err
}

// CheckNotHostTape returns an ErrInvalid for a tape of tape serve, whose entries count as the server's own record.
func CheckNotHostTape(ctx context.Context, t *workspace.Tape) error {
	own, err := IsHostTape(ctx, t)
	if err == nil && own {
		err = layout.Invalid("name another tape", "the tape %q is one that the server keeps for itself", t.Name())
	}
	return err
}
