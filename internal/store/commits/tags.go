package commits

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// PutWithTag stores in a batch the tag of the handoff with commit h, which is c; line is the anchor's line.
func PutWithTag(ctx context.Context, t *workspace.Tape, b *gitstore.Batch, ref string, h gitstore.Hash, c gitstore.Commit, line []byte) (gitstore.Hash, error) {
	e, err := jsonl.Parse(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		return gitstore.ZeroHash, err
	}
	raw := gitstore.EncodeTag(gitstore.Tag{Object: h, Name: layout.ShortTag(ref), Tagger: c.Committer, Message: TagMessage(e)})
	if raw, err = t.Store().SignTag(ctx, raw); err != nil {
		return gitstore.ZeroHash, err
	}
	return b.Put(gitstore.KindTag, raw), nil
}

// TagMessage returns the text of a tag: the anchor's name, its summary, and its state as JSON.
func TagMessage(e jsonl.Entry) string {
	parts := []string{layout.OneLine(jsonl.GetString(e.Payload, "name"))}
	if summary := summaryOf(e); summary != "" {
		parts = append(parts, summary)
	}
	if state := jsonl.Get(e.Payload, "state"); len(state) > 0 {
		parts = append(parts, "State: "+layout.Printable(string(jsonl.Unescape(nil, state))))
	}
	return strings.Join(parts, "\n\n") + "\n"
}

func summaryOf(e jsonl.Entry) string {
	return strings.TrimSpace(layout.Printable(jsonl.GetString(e.Payload, "state", "summary")))
}

// CommitText returns the summary of an anchor's line for the commit of its handoff, or "". A very long
// one is cut; the anchor and its tag have the whole summary.
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

// SetTag creates a tag, or moves one that a former tape of the same name left.
func SetTag(ctx context.Context, t *workspace.Tape, ref string, h gitstore.Hash, who gitstore.Signature) error {
	old, err := t.Store().Git().Ref(ref)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	if old == h {
		return nil
	}
	return t.Store().Git().UpdateRef(ctx, gitstore.RefUpdate{Name: ref, Old: old, New: h, Message: "tape: tag", Who: who})
}

// missingTag is a phase whose tag is missing or wrong.
type missingTag struct {
	folder string
	hash   gitstore.Hash // the commit that the tag must name
	commit gitstore.Commit
	line   []byte        // the anchor's line
	names  gitstore.Hash // the commit that the tag names now; zero: the tag is missing
}

// EnsureTags creates the tags that are missing because of a crash between commit and tag. Tags are created in the
// order of their commits, so the first correct one ends the search. If all is set, the search goes on to the
// first commit, and restores tags that were deleted or that name a commit which the tape no longer has; a tag
// that was moved to another commit of the tape stays, and verify reports it. made says whether it created any.
func EnsureTags(ctx context.Context, t *workspace.Tape, head gitstore.Hash, all bool) (made bool, err error) {
	var todo []missingTag
	chain, start := map[gitstore.Hash]bool{}, snapshot.StartOf(t, head)
	view, err := snapshot.AtCommit(t.Store(), head)
	if err != nil {
		return false, err
	}
	for commit := head; ; {
		chain[commit] = true
		c, err := t.Store().Git().Commit(commit)
		if err != nil {
			return false, layout.CorruptObject(commit, err)
		}
		if commit == start {
			break // earlier commits are the parent's
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
		missing, right, err := missingTags(t, commit, c, view, len(parent.List))
		if err != nil {
			return false, err
		}
		todo = append(todo, missing...)
		if right && !all || !ok {
			break
		}
		commit, view = before, parent
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

// TagNew creates the missing tags of a tape that came from a remote. A crash there, or a push by plain git, may
// have left them out. It skips a merge made by git, whose completion creates them.
func TagNew(ctx context.Context, t *workspace.Tape, head gitstore.Hash) error {
	err := snapshot.CheckMergeComplete(t, head)
	if incomplete := (*workspace.IncompleteMergeError)(nil); errors.As(err, &incomplete) {
		return nil
	}
	if err == nil {
		_, err = EnsureTags(ctx, t, head, false)
	}
	return err
}

// missingTags returns the phases that a commit added whose tags are missing or wrong, last phase first, and
// whether one has a correct tag.
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

// PruneTags removes the tags of phases that the tape no longer has.
func PruneTags(ctx context.Context, t *workspace.Tape, list []layout.Phase) error {
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

// tagged returns the commit that a phase's tag names; zero if the tag or its object is missing.
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
	tag, err := PutWithTag(ctx, t, batch, ref, m.hash, m.commit, m.line)
	if err == nil {
		err = batch.Flush(ctx)
	}
	if err != nil {
		return err
	}
	return errors.Join(SetTag(ctx, t, ref, tag, m.commit.Committer), batch.Finish(ctx))
}
