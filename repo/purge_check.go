package repo

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/secrets"
)

// Rewriting is one to one: a commit of the new history stands as far from its beginning as
// the old one did. So two histories can be compared commit by commit, without making the
// new one again, and whoever compares needs no rules.

// checkPurged reports whether the history of one commit became that of another by the
// purges which the newer one has a record of, and nothing else was changed: then ids are
// the entries that were. The new one may have more behind it.
func (t *Tape) checkPurged(ctx context.Context, old, next gitstore.Hash) (ids []int64, ok bool, err error) {
	ids, _, ok, err = t.comparePurged(ctx, old, next)
	return ids, ok, err
}

// comparePurged does that, and tells the secrets that were taken out.
func (t *Tape) comparePurged(ctx context.Context, old, next gitstore.Hash) (ids []int64, texts map[secrets.Secret]bool, ok bool, err error) {
	was, err := t.store.firstParents(ctx, old)
	if err != nil {
		return nil, nil, false, err
	}
	is, err := t.store.firstParents(ctx, next)
	if err != nil {
		return nil, nil, false, err
	}
	at := len(is) - len(was)
	if at <= 0 || is[at] == old {
		return nil, nil, false, nil
	}
	c, recorded, ok, err := t.store.newPurgeCheck(ctx, is[:at])
	if err != nil || !ok {
		return nil, nil, false, err
	}
	if ok, err = c.histories(old, is[at]); err != nil || !ok {
		return nil, nil, false, err
	}
	for id := range c.changed {
		if !recorded[id] {
			return nil, nil, false, nil
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, c.allow.texts, true, nil
}

// newPurgeCheck makes one that allows what the records among some commits say; ok is false
// if there is none. Recorded are the entries that they name.
func (s *Store) newPurgeCheck(ctx context.Context, commits []gitstore.Hash) (c *purgeCheck, recorded map[int64]bool, ok bool, err error) {
	c = &purgeCheck{ctx: ctx, s: s, same: map[[2]gitstore.Hash]bool{}, changed: map[int64]bool{}, allow: redaction{prints: map[string]bool{}, texts: map[secrets.Secret]bool{}}}
	recorded = map[int64]bool{}
	for _, h := range commits {
		data, found, err := s.purgeRecord(h)
		if err != nil {
			return nil, nil, false, err
		}
		for _, fp := range data.Fingerprints {
			c.allow.prints[fp] = true
		}
		for _, id := range data.Entries {
			recorded[id] = true
		}
		c.allow.whole = c.allow.whole || data.Whole
		ok = ok || found
	}
	return c, recorded, ok, nil
}

// wasPurged reports whether a history goes on from commits that a purge has replaced of
// which ours has a record: to merge it would bring back what was taken out.
func (t *Tape) wasPurged(ctx context.Context, ours, theirs gitstore.Hash) (bool, error) {
	here, err := t.store.firstParents(ctx, ours)
	if err != nil {
		return false, err
	}
	there, err := t.store.firstParents(ctx, theirs)
	if err != nil {
		return false, err
	}
	// The first commits, from the oldest on, in which both differ.
	n := 1
	for n <= min(len(here), len(there)) && here[len(here)-n] == there[len(there)-n] {
		n++
	}
	if n > min(len(here), len(there)) {
		return false, nil
	}
	c, _, ok, err := t.store.newPurgeCheck(ctx, here[:len(here)-n])
	if err != nil || !ok {
		return false, err
	}
	return c.histories(there[len(there)-n], here[len(here)-n])
}

// firstParents lists a commit and those before it, the newest first.
func (s *Store) firstParents(ctx context.Context, h gitstore.Hash) ([]gitstore.Hash, error) {
	var out []gitstore.Hash
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := s.git.Commit(h)
		if err != nil {
			return nil, corruptObject(h, err)
		}
		out = append(out, h)
		if len(c.Parents) == 0 {
			return out, nil
		}
		h = c.Parents[0]
	}
}

// purgeCheck compares an old history with a new one.
type purgeCheck struct {
	ctx     context.Context
	s       *Store
	allow   redaction
	same    map[[2]gitstore.Hash]bool // pairs of objects that were compared, and differ as allowed
	links   [][2]gitstore.Hash        // pairs of commits that messages and summaries name
	changed map[int64]bool            // entries of the newest commit that differ; nil while others are compared
}

// follows notes that a commit is named where another one was.
func (c *purgeCheck) follows(was, is string) bool {
	a, err1 := gitstore.ParseHash(was)
	b, err2 := gitstore.ParseHash(is)
	c.links = append(c.links, [2]gitstore.Hash{a, b})
	return err1 == nil && err2 == nil
}

func (c *purgeCheck) histories(was, is gitstore.Hash) (bool, error) {
	for todo := [][2]gitstore.Hash{{was, is}}; len(todo) > 0; {
		pair := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if pair[0] == pair[1] || c.same[pair] {
			continue
		}
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		a, err1 := c.s.git.Commit(pair[0])
		b, err2 := c.s.git.Commit(pair[1])
		if err := errors.Join(err1, err2); err != nil {
			return false, corruptObject(pair[0], err)
		}
		if len(a.Parents) != len(b.Parents) || !c.sameHead(a, b) || !c.messages(a.Message, b.Message) {
			return false, nil
		}
		ok, err := c.trees(a.Tree, b.Tree, c.inRoot)
		if err != nil || !ok {
			return false, err
		}
		if pair[0] == was {
			defer func(ids map[int64]bool) { c.changed = ids }(c.changed)
			c.changed = nil // the ids of what was merged are others
		}
		c.same[pair] = true
		for i := range a.Parents {
			todo = append(todo, [2]gitstore.Hash{a.Parents[i], b.Parents[i]})
		}
	}
	return !slices.ContainsFunc(c.links, func(pair [2]gitstore.Hash) bool { return !c.same[pair] }), nil
}

// sameHead compares who made two commits, and when.
func (c *purgeCheck) sameHead(a, b gitstore.Commit) bool {
	head := func(x gitstore.Commit) []byte {
		return gitstore.EncodeCommit(gitstore.Commit{Author: x.Author, Committer: x.Committer})
	}
	return bytes.Equal(head(a), head(b))
}

func (c *purgeCheck) messages(was, is string) bool {
	if was == is {
		return true
	}
	oldBody, oldTrailers := cutTrailers(was)
	newBody, newTrailers := cutTrailers(is)
	before, after := strings.Split(oldTrailers, "\n"), strings.Split(newTrailers, "\n")
	if len(before) != len(after) {
		return false
	}
	renamed := false
	for i, line := range before {
		key, value, _ := strings.Cut(line, ": ")
		newKey, newValue, _ := strings.Cut(after[i], ": ")
		switch {
		case line == after[i]:
		case key != newKey:
			return false
		case key == trailerAnchor && c.allow.text(decodeTrailer(value), decodeTrailer(newValue)):
			renamed = oldBody == handoffSubject+oneLine(decodeTrailer(value)) && newBody == handoffSubject+oneLine(decodeTrailer(newValue))
		case key == trailerDone && c.follows(value, newValue):
		case strings.HasPrefix(key, "Tape-"), !c.allow.text(line, after[i]):
			return false
		}
	}
	return renamed || c.allow.text(oldBody, newBody)
}
