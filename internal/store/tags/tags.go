// Package tags makes the annotated tags of handoffs. A tag follows from its commit alone, so that
// one that was lost in a crash can be made again.
package tags

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"tape/internal/git/gitobject"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// Put stores the tag of a handoff, whose anchor has the line.
func Put(ctx context.Context, t *workspace.Tape, b *gitstore.Batch, ref string, h gitstore.Hash, c gitstore.Commit, line []byte) (gitstore.Hash, error) {
	e, err := jsonl.Parse(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		return gitstore.ZeroHash, err
	}
	raw := gitstore.EncodeTag(gitstore.Tag{Object: h, Name: layout.ShortTag(ref), Tagger: c.Committer, Message: Message(e)})
	signer, err := t.Store().Git().Config().Signer()
	if err != nil {
		return gitstore.ZeroHash, err
	}
	if signer != nil && signer.Tags() {
		sig, err := signer.Sign(ctx, raw)
		if err != nil {
			return gitstore.ZeroHash, err
		}
		raw = gitobject.SignTag(raw, sig)
	}
	return b.Put(gitstore.KindTag, raw), nil
}

// Message is the anchor's name, its summary, and its state as JSON.
func Message(e jsonl.Entry) string {
	parts := []string{layout.OneLine(jsonl.GetString(e.Payload, "name"))}
	if summary := summaryOf(e); summary != "" {
		parts = append(parts, summary)
	}
	if state := jsonl.Get(e.Payload, "state"); len(state) > 0 {
		parts = append(parts, "State: "+string(jsonl.Unescape(nil, state)))
	}
	return strings.Join(parts, "\n\n") + "\n"
}

func summaryOf(e jsonl.Entry) string {
	return strings.TrimSpace(layout.Printable(jsonl.GetString(e.Payload, "state", "summary")))
}

// CommitText is the summary of an anchor's line as the commit of its handoff has it, "" if it
// has none. What is longer than commits should be is cut; the anchor and its tag have it whole.
func CommitText(line []byte) string {
	const limit = 64 << 10 // bytes
	e, err := jsonl.Parse(line)
	if err != nil {
		return ""
	}
	text := summaryOf(e)
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// Set makes a tag, moving one that a tape of the same name left behind.
func Set(ctx context.Context, t *workspace.Tape, ref string, h gitstore.Hash, who gitstore.Signature) error {
	old, err := t.Store().Git().Ref(ref)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	if old == h {
		return nil
	}
	return t.Store().Git().UpdateRef(ctx, gitstore.RefUpdate{Name: ref, Old: old, New: h, Message: "tape: tag", Who: who})
}

// missingTag is a tag that is not where it should be.
type missingTag struct {
	folder string
	hash   gitstore.Hash // the commit it belongs on
	commit gitstore.Commit
	line   []byte        // the anchor's
	names  gitstore.Hash // the commit that it is on, zero if there is none
}

// Ensure makes the tags that a crash between commit and tag left out. Tags are
// made in the order of their commits, so the first right one ends the search. With all
// it goes on, and makes those that somebody deleted or that name a commit which the
// tape no longer has; one that was moved to another commit of the tape stays, for
// verify to tell.
func Ensure(ctx context.Context, t *workspace.Tape, head gitstore.Hash, all bool) (made bool, err error) {
	var todo []missingTag
	chain, start := map[gitstore.Hash]bool{}, snapshot.StartOf(t, head)
	view, err := snapshot.AtCommit(t.Store(), head)
	if err != nil {
		return false, err
	}
	for at := head; ; {
		chain[at] = true
		c, err := t.Store().Git().Commit(at)
		if err != nil {
			return false, layout.CorruptObject(at, err)
		}
		if at == start {
			break // what is before is the parent's
		}
		before, ok, err := resolve.Previous(t, c)
		if err != nil {
			return false, err
		}
		parent := &snapshot.Snapshot{}
		if ok {
			if parent, err = snapshot.AtCommit(t.Store(), before); err != nil {
				return false, err
			}
		}
		missing, right, err := missingTags(t, at, c, view, len(parent.List))
		if err != nil {
			return false, err
		}
		todo = append(todo, missing...)
		if right && !all || !ok {
			break
		}
		at, view = before, parent
	}
	for _, m := range slices.Backward(todo) {
		if all && chain[m.names] {
			continue
		}
		if err := m.make(ctx, t); err != nil {
			return made, err
		}
		made = true
	}
	return made, nil
}

// OfNew makes the tags of a tape that comes from a remote which lacks them: a crash, or a
// push by git, may have left them out. A merge that git made has them once it is completed.
func OfNew(ctx context.Context, t *workspace.Tape, head gitstore.Hash) error {
	err := snapshot.CheckSettled(t, head)
	if unsettled := (*workspace.Unsettled)(nil); errors.As(err, &unsettled) {
		return nil
	}
	if err == nil {
		_, err = Ensure(ctx, t, head, false)
	}
	return err
}

// missingTags returns the wrong tags of the phases that a commit added, the last one
// first, and whether there is a right one.
func missingTags(t *workspace.Tape, h gitstore.Hash, c gitstore.Commit, v *snapshot.Snapshot, before int) (out []missingTag, right bool, err error) {
	for i := len(v.List) - 1; i >= before; i-- {
		p := v.List[i]
		names, err := tagged(t, p.Folder)
		if err != nil {
			return nil, false, err
		}
		if names == h {
			right = true
			continue
		}
		line, err := v.AnchorLine(p)
		if err != nil {
			return nil, false, err
		}
		out = append(out, missingTag{p.Folder, h, c, line, names})
	}
	return out, right, nil
}

// Prune removes the tags of phases that the tape no longer has.
func Prune(ctx context.Context, t *workspace.Tape, list []layout.Phase) error {
	tags, err := t.Store().Git().Refs(layout.TagPrefix + t.Slug() + "/")
	if err != nil {
		return err
	}
	for _, tag := range tags {
		folder := strings.TrimPrefix(tag.Name, layout.TagPrefix+t.Slug()+"/")
		if slices.ContainsFunc(list, func(p layout.Phase) bool { return p.Folder == folder }) {
			continue
		}
		if err := t.Store().Git().UpdateRef(ctx, gitstore.RefUpdate{Name: tag.Name, Old: tag.Hash, Message: "tape: reset"}); err != nil {
			return err
		}
	}
	return nil
}

// tagged returns the commit that a phase's tag is on; zero if there is no tag, or one of
// an object that is gone.
func tagged(t *workspace.Tape, folder string) (gitstore.Hash, error) {
	h, err := t.Store().Git().Ref(t.TagRef(folder))
	if err == nil {
		h, err = t.Store().Git().Peel(h)
	}
	if errors.Is(err, gitstore.ErrNotFound) {
		return gitstore.ZeroHash, nil
	}
	return h, err
}

func (m missingTag) make(ctx context.Context, t *workspace.Tape) error {
	batch := t.Store().Git().NewBatch()
	defer batch.Discard()
	ref := t.TagRef(m.folder)
	tag, err := Put(ctx, t, batch, ref, m.hash, m.commit, m.line)
	if err == nil {
		err = batch.Flush(ctx)
	}
	if err != nil {
		return err
	}
	return errors.Join(Set(ctx, t, ref, tag, m.commit.Committer), batch.Settle(ctx))
}
