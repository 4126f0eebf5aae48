package query

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
	"tape/internal/layout"
	"tape/internal/lineage"
	"tape/internal/resolve"
	"tape/internal/snapshot"
	"tape/internal/workspace"
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
func Phases(ctx context.Context, t *workspace.Tape) ([]Phase, error) {
	v, err := snapshot.Take(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("read tape %q: %w", t.Name(), err)
	}
	tags, err := lineage.TagTargets(t)
	if err != nil {
		return nil, fmt.Errorf("read tape %q: %w", t.Name(), err)
	}
	out := make([]Phase, 0, len(v.List))
	for _, p := range v.List {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		anchor, err := snapshot.ReadAnchor(v, p, t.Name())
		if err != nil {
			return nil, fmt.Errorf("read tape %q: %w", t.Name(), err)
		}
		if len(out) > 0 {
			prev := &out[len(out)-1]
			prev.LastID = anchor.ID - 1
			prev.Entries = prev.LastID - prev.FirstID + 1
		}
		ph := Phase{Seq: p.Seq, Name: anchor.Anchor, State: jsonl.Get(anchor.Payload, "state"), FirstID: anchor.ID, Date: anchor.Date, Folder: p.Folder}
		if commit, ok := tags[p.Folder]; ok {
			ph.Commit, ph.Tag = commit.String(), layout.ShortTag(t.TagRef(p.Folder))
		}
		out = append(out, ph)
	}
	last := &out[len(out)-1]
	if last.LastID, err = snapshot.LastID(v, v.LastPhase()); err != nil {
		return nil, fmt.Errorf("read tape %q: %w", t.Name(), err)
	}
	last.Entries = last.LastID - last.FirstID + 1
	return out, nil
}

// Show yields what a target names: a phase with its anchor (a name, a number such as
// 002, latest, or its tag), one entry (@17), or the entries that a commit added.
// ErrNotFound if it names nothing. After an error it ends.
func Show(ctx context.Context, t *workspace.Tape, target string) iter.Seq2[layout.Entry, error] {
	return func(yield func(layout.Entry, error) bool) {
		if err := show(ctx, t, target, func(e layout.Entry) bool { return yield(e, nil) }); err != nil {
			yield(layout.Entry{}, err)
		}
	}
}

func show(ctx context.Context, t *workspace.Tape, target string, yield func(layout.Entry) bool) error {
	if number, ok := strings.CutPrefix(target, "@"); ok {
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil || id < 1 {
			return layout.Invalid("entries are numbered from @1", "%q is not the id of an entry", target)
		}
		e, err := snapshot.Entry(ctx, t, id)
		if err == nil {
			yield(e)
		}
		return err
	}
	name := strings.TrimPrefix(strings.TrimPrefix(target, "refs/tags/"), "anchor/"+t.Slug()+"/")
	err := snapshot.EachEntry(ctx, t, snapshot.Query{Phase: name}, yield)
	if !errors.Is(err, layout.ErrNotFound) {
		return err
	}
	h, ok := resolveTapeCommit(t, target)
	if !ok {
		return layout.NotFound("name a phase (tape anchors lists them), an entry (@17), a tag or a commit",
			"tape %q has no %q", t.Name(), target)
	}
	return commitEntries(ctx, t, h, yield)
}

// resolveTapeCommit finds the commit that a tag, branch or abbreviated id names; HEAD is the
// tape's newest. As for git, ~N and ^ behind it lead back by first parents.
func resolveTapeCommit(t *workspace.Tape, target string) (gitstore.Hash, bool) {
	name, back, ok := cutSteps(target)
	if !ok {
		return gitstore.ZeroHash, false
	}
	h, ok := resolveCommit(t.Store(), name)
	if name == "HEAD" {
		head, err := t.Head()
		h, ok = head, err == nil
	}
	if !ok || back == 0 {
		return h, ok
	}
	for c, err := range t.Store().ByFirstParents(h) {
		if err != nil {
			break
		}
		if h = c.Hash; back == 0 {
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
func resolveCommit(s *workspace.Store, target string) (gitstore.Hash, bool) {
	for _, ref := range []string{target, "refs/" + target, "refs/tags/" + target, "refs/heads/" + target} {
		if !strings.HasPrefix(ref, "refs/") || gitstore.CheckRefName(ref) != nil {
			continue
		}
		if h, err := s.Git().Ref(ref); err == nil {
			h, err = s.Git().Peel(h)
			return h, err == nil
		}
	}
	h, err := s.Git().ResolvePrefix(target)
	if err != nil {
		return h, false
	}
	h, err = s.Git().Peel(h)
	return h, err == nil
}

// commitEntries yields the entries that a commit has and its first parent has not.
func commitEntries(ctx context.Context, t *workspace.Tape, h gitstore.Hash, yield func(layout.Entry) bool) error {
	c, err := t.Store().Git().Commit(h)
	if err != nil {
		return layout.NotFound("", "%s is not a commit", h)
	}
	v, err := snapshot.AtCommit(t.Store(), h)
	if err != nil {
		return err
	}
	var after int64
	first := 0
	before, ok, err := resolve.Previous(t, c)
	if err != nil {
		return err
	}
	if ok {
		parent, err := snapshot.AtCommit(t.Store(), before)
		if err != nil {
			return err
		}
		first = len(parent.List) - 1
		if after, err = parent.LastID(); err != nil {
			return err
		}
	}
	name := layout.DecodeTrailer(c.Trailer(layout.TrailerName))
	if name == "" {
		name = t.Name()
	}
	w := &snapshot.Walk{V: v, Tape: name, First: first, Last: len(v.List) - 1, From: snapshot.Place{Id: after + 1}}
	return w.Read(ctx, yield)
}
