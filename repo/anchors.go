package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// Phase describes one phase of a tape and the anchor that opens it.
type Phase struct {
	Seq     int             // 1, 2, 3 …
	Name    string          // the anchor's name
	State   json.RawMessage // the anchor's state; nil if it has none
	Entries int64           // the anchor included
	FirstID int64           // the anchor's id
	LastID  int64
	Date    string // the anchor's
	Commit  string // the commit of the handoff; "" if there is none yet
	Tag     string // its tag, without refs/tags/
	Folder  string // below anchors/
}

// Summary is the text that a handoff kept as state.summary.
func (p Phase) Summary() string { return jsonl.GetString(p.State, "summary") }

// Phases returns the tape's phases in order.
func (t *Tape) Phases(ctx context.Context) ([]Phase, error) {
	v, err := t.snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("read tape %q: %w", t.name, err)
	}
	tags, err := t.tagTargets()
	if err != nil {
		return nil, fmt.Errorf("read tape %q: %w", t.name, err)
	}
	out := make([]Phase, 0, len(v.list))
	for _, p := range v.list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		anchor, err := readAnchor(v, p, t.name)
		if err != nil {
			return nil, fmt.Errorf("read tape %q: %w", t.name, err)
		}
		if len(out) > 0 {
			prev := &out[len(out)-1]
			prev.LastID = anchor.ID - 1
			prev.Entries = prev.LastID - prev.FirstID + 1
		}
		ph := Phase{Seq: p.seq, Name: anchor.Anchor, State: jsonl.Get(anchor.Payload, "state"), FirstID: anchor.ID, Date: anchor.Date, Folder: p.folder}
		if commit, ok := tags[p.folder]; ok {
			ph.Commit, ph.Tag = commit.String(), shortTag(t.tagRef(p.folder))
		}
		out = append(out, ph)
	}
	last := &out[len(out)-1]
	if last.LastID, err = lastID(v, v.lastPhase()); err != nil {
		return nil, fmt.Errorf("read tape %q: %w", t.name, err)
	}
	last.Entries = last.LastID - last.FirstID + 1
	return out, nil
}

// Show yields what a target names: a phase with its anchor (a name, a number such as
// 002, latest, or its tag), one entry (@17), or the entries that a commit added.
// ErrNotFound if it names nothing. After an error it ends.
func (t *Tape) Show(ctx context.Context, target string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := t.show(ctx, target, func(e Entry) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, err)
		}
	}
}

func (t *Tape) show(ctx context.Context, target string, yield func(Entry) bool) error {
	if number, ok := strings.CutPrefix(target, "@"); ok {
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil || id < 1 {
			return invalid("entries are numbered from @1", "%q is not the id of an entry", target)
		}
		e, err := t.Entry(ctx, id)
		if err == nil {
			yield(e)
		}
		return err
	}
	name := strings.TrimPrefix(strings.TrimPrefix(target, "refs/tags/"), "anchor/"+t.slug+"/")
	err := t.entries(ctx, Query{Phase: name}, yield)
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	h, ok := t.resolveCommit(target)
	if !ok {
		return notFound("name a phase (tape anchors lists them), an entry (@17), a tag or a commit",
			"tape %q has no %q", t.name, target)
	}
	return t.commitEntries(ctx, h, yield)
}

// resolveCommit finds the commit that a tag, branch or abbreviated id names; HEAD is the
// tape's newest. As for git, ~N and ^ behind it lead back by first parents.
func (t *Tape) resolveCommit(target string) (gitstore.Hash, bool) {
	name, back, ok := cutSteps(target)
	if !ok {
		return gitstore.ZeroHash, false
	}
	h, ok := t.store.resolveCommit(name)
	if name == "HEAD" {
		head, err := t.head()
		h, ok = head, err == nil
	}
	if !ok || back == 0 {
		return h, ok
	}
	for c, err := range t.store.byFirstParents(h) {
		if err != nil {
			break
		}
		if h = c.hash; back == 0 {
			return h, true
		}
		back--
	}
	return h, false
}

// cutSteps takes ~N and ^ off the end of a target, and adds up what they mean.
func cutSteps(target string) (name string, back int, ok bool) {
	for {
		if rest, found := strings.CutSuffix(target, "^"); found {
			target, back = rest, back+1
			continue
		}
		digits := strings.TrimLeft(target[strings.LastIndexByte(target, '~')+1:], "0123456789")
		i := strings.LastIndexByte(target, '~')
		if i < 0 || digits != "" {
			return target, back, true
		}
		n := 1
		if i < len(target)-1 {
			var err error
			if n, err = strconv.Atoi(target[i+1:]); err != nil {
				return target, 0, false
			}
		}
		target, back = target[:i], back+n
	}
}

// resolveCommit finds the commit that a tag, branch or abbreviated id names.
func (s *Store) resolveCommit(target string) (gitstore.Hash, bool) {
	for _, ref := range []string{target, "refs/" + target, "refs/tags/" + target, "refs/heads/" + target} {
		if !strings.HasPrefix(ref, "refs/") || gitstore.CheckRefName(ref) != nil {
			continue
		}
		if h, err := s.git.Ref(ref); err == nil {
			h, err = s.git.Peel(h)
			return h, err == nil
		}
	}
	h, err := s.git.ResolvePrefix(target)
	if err != nil {
		return h, false
	}
	h, err = s.git.Peel(h)
	return h, err == nil
}

// commitEntries yields the entries that a commit has and its first parent has not.
func (t *Tape) commitEntries(ctx context.Context, h gitstore.Hash, yield func(Entry) bool) error {
	c, err := t.store.git.Commit(h)
	if err != nil {
		return notFound("", "%s is not a commit", h)
	}
	v, err := t.store.commitView(h)
	if err != nil {
		return err
	}
	var after int64
	first := 0
	before, ok, err := t.previous(c)
	if err != nil {
		return err
	}
	if ok {
		parent, err := t.store.commitView(before)
		if err != nil {
			return err
		}
		first = len(parent.list) - 1
		if after, err = parent.lastID(); err != nil {
			return err
		}
	}
	name := decodeTrailer(c.Trailer(trailerName))
	if name == "" {
		name = t.name
	}
	w := &walk{v: v, tape: name, first: first, last: len(v.list) - 1, from: place{id: after + 1}}
	return w.read(ctx, yield)
}
