package query

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
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

// Summary is the summary that the handoff put in the state.
func (p Phase) Summary() string { return jsonl.GetString(p.State, "summary") }

// Phases returns the tape's phases in order.
func Phases(ctx context.Context, t *workspace.Tape) (out []Phase, err error) {
	defer wrapRead(t, &err)
	v, err := snapshot.Take(ctx, t)
	if err != nil {
		return nil, err
	}
	tags, err := lineage.TagTargets(t)
	if err != nil {
		return nil, err
	}
	out = make([]Phase, 0, len(v.List))
	for _, p := range v.List {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		anchor, err := snapshot.ReadAnchor(v, p, t.Name())
		if err != nil {
			return nil, err
		}
		if len(out) > 0 {
			out[len(out)-1].setEnd(anchor.ID - 1)
		}
		ph := Phase{Seq: p.Seq, Name: anchor.Anchor, State: jsonl.Get(anchor.Payload, "state"), FirstID: anchor.ID, Date: anchor.Date, Folder: p.Folder}
		if commit, ok := tags[p.Folder]; ok {
			ph.Commit, ph.Tag = commit.String(), layout.ShortTag(t.TagRef(p.Folder))
		}
		out = append(out, ph)
	}
	last, err := v.LastID()
	out[len(out)-1].setEnd(last)
	return out, err
}

func (p *Phase) setEnd(id int64) { p.LastID, p.Entries = id, id-p.FirstID+1 }

// Show yields what a target names: a phase with its anchor (a name, a number such as 002, latest,
// or its tag), one entry (@17), or the entries that a commit added. It ends after an error:
// ErrNotFound if the target names nothing.
func Show(ctx context.Context, t *workspace.Tape, target string) iter.Seq2[layout.Entry, error] {
	return layout.Seq(func(yield func(layout.Entry) bool) error { return show(ctx, t, target, yield) })
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
	err := snapshot.EachEntry(ctx, t, snapshot.Query{Phase: anchorName(t, target)}, yield)
	if !errors.Is(err, layout.ErrNotFound) {
		return err
	}
	h, ok := resolveTapeCommit(t, target)
	if !ok {
		return layout.NotFound("", "tape %q has no %q", t.Name(), target).Try(layout.NamePhase, target)
	}
	return commitEntries(ctx, t, h, yield)
}

// resolveTapeCommit finds the commit that a tag, branch or abbreviated id names. HEAD is the tape's
// newest commit. As in git, ~N and ^ go back by first parents.
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

// cutSteps cuts ~N and ^ off the end of a target, and returns how many commits back they mean.
func cutSteps(target string) (name string, back int, ok bool) {
	for {
		if rest, found := strings.CutSuffix(target, "^"); found {
			target, back = rest, back+1
			continue
		}
		i := strings.LastIndexByte(target, '~')
		if i < 0 || strings.Trim(target[i+1:], "0123456789") != "" {
			return target, back, true
		}
		n := 1
		if digits := target[i+1:]; digits != "" {
			var err error
			if n, err = strconv.Atoi(digits); err != nil {
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

// commitEntries yields the entries that a commit adds to its first parent.
func commitEntries(ctx context.Context, t *workspace.Tape, h gitstore.Hash, yield func(layout.Entry) bool) error {
	c, v, err := readCommit(t, h)
	if err != nil {
		return err
	}
	w := &snapshot.Walk{V: v, Tape: nameAt(t, c), Last: len(v.List) - 1}
	before, ok, err := resolve.Previous(t, c)
	if err != nil {
		return err
	}
	if ok {
		parent, err := snapshot.AtCommit(t.Store(), before)
		if err != nil {
			return err
		}
		last, err := parent.LastID()
		if err != nil {
			return err
		}
		w.First, w.From.ID = len(parent.List)-1, last+1
	}
	return w.Read(ctx, yield)
}
