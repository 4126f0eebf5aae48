package repo

import (
	"errors"

	"tape/internal/gitstore"
)

// purged checks the record of a purge; where the commits that were replaced are still
// known, also that the same purge makes this history of them.
func (v *verifier) purged(t *Tape, h, head gitstore.Hash, c gitstore.Commit) error {
	value := c.Trailer(trailerReplaces)
	if value == "" {
		return nil
	}
	_, ok, err := v.s.purgeRecord(v.ctx, h)
	if err != nil {
		return err
	}
	if !ok {
		v.problemf(t.name, h.String()[:12], "the commit says that it records a purge, but has no such record")
		return nil
	}
	old, err := gitstore.ParseHash(value)
	if err != nil {
		v.problemf(t.name, h.String()[:12], "the trailer %s names no commit", trailerReplaces)
		return nil
	}
	if _, err := v.s.git.Commit(old); v.purging || errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	_, ok, err = v.s.checkPurged(v.ctx, nil, old, head)
	if err != nil {
		return v.ctx.Err() // part of the old history is gone, so it is not known any more
	}
	if !ok {
		v.problemf(t.name, h.String()[:12], "history was rewritten: it is not that of %s without what the purge took out", value[:min(len(value), 12)])
	}
	return nil
}
