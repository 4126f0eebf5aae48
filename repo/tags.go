package repo

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

func (t *Tape) tagRef(folder string) string { return tagPrefix + t.slug + "/" + folder }

func shortTag(ref string) string { return strings.TrimPrefix(ref, "refs/tags/") }

// putTag stores the tag of a handoff. It follows from the commit alone, so that a tag
// lost in a crash can be made again.
func (t *Tape) putTag(ctx context.Context, b *gitstore.Batch, ref string, h gitstore.Hash, c gitstore.Commit, line []byte) (gitstore.Hash, error) {
	e, err := jsonl.Parse(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		return gitstore.ZeroHash, err
	}
	raw := gitstore.EncodeTag(gitstore.Tag{Object: h, Name: shortTag(ref), Tagger: c.Committer, Message: tagMessage(e)})
	signer, err := t.store.git.Signer()
	if err != nil {
		return gitstore.ZeroHash, err
	}
	if signer != nil && signer.Tags() {
		sig, err := signer.Sign(ctx, raw)
		if err != nil {
			return gitstore.ZeroHash, err
		}
		raw = gitstore.AppendTagSignature(raw, sig)
	}
	return b.Put(gitstore.KindTag, raw), nil
}

// tagMessage is the anchor's name, its summary, and its state as JSON.
func tagMessage(e jsonl.Entry) string {
	parts := []string{oneLine(jsonl.GetString(e.Payload, "name"))}
	state := jsonl.Get(e.Payload, "state")
	if summary := printable(jsonl.GetString(state, "summary")); strings.TrimSpace(summary) != "" {
		parts = append(parts, strings.TrimSpace(summary))
	}
	if len(state) > 0 {
		parts = append(parts, "State: "+string(jsonl.Unescape(nil, state)))
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// setTag makes a tag, moving one that a tape of the same name left behind.
func (t *Tape) setTag(ctx context.Context, ref string, h gitstore.Hash, who gitstore.Signature) error {
	old, err := t.store.git.Ref(ref)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	if old == h {
		return nil
	}
	return t.store.git.UpdateRef(ctx, gitstore.RefUpdate{Name: ref, Old: old, New: h, Message: "tape: tag", Who: who})
}

// missingTag is a tag that is not where it should be.
type missingTag struct {
	folder string
	hash   gitstore.Hash // the commit it belongs on
	commit gitstore.Commit
	line   []byte        // the anchor's
	names  gitstore.Hash // the commit that it is on, zero if there is none
}

// ensureTags makes the tags that a crash between commit and tag left out. Tags are
// made in the order of their commits, so the first right one ends the search. With all
// it goes on, and makes those that somebody deleted or that name a commit which the
// tape no longer has; one that was moved to another commit of the tape stays, for
// verify to tell.
func (t *Tape) ensureTags(ctx context.Context, head gitstore.Hash, all bool) (made bool, err error) {
	var todo []missingTag
	chain, start := map[gitstore.Hash]bool{}, t.start(head)
	view, err := t.store.commitView(head)
	for at := head; err == nil; {
		chain[at] = true
		c, err := t.store.git.Commit(at)
		if err != nil {
			return false, corruptObject(at, err)
		}
		if at == start {
			break // what is before is the parent's
		}
		before, ok, err := t.previous(c)
		if err != nil {
			return false, err
		}
		parent := &snapshot{}
		if ok {
			if parent, err = t.store.commitView(before); err != nil {
				return false, err
			}
		}
		missing, right, err := t.missingTags(at, c, view, len(parent.list))
		if err != nil {
			return false, err
		}
		todo = append(todo, missing...)
		if right && !all {
			break
		}
		if !ok {
			break
		}
		at, view = before, parent
	}
	if err != nil {
		return false, err
	}
	for _, m := range slices.Backward(todo) {
		if all && chain[m.names] {
			continue
		}
		if err := t.makeTag(ctx, m.folder, m.hash, m.commit, m.line); err != nil {
			return made, err
		}
		made = true
	}
	return made, nil
}

// missingTags returns the wrong tags of the phases that a commit added, the last one
// first, and whether there is a right one.
func (t *Tape) missingTags(h gitstore.Hash, c gitstore.Commit, v *snapshot, before int) (out []missingTag, right bool, err error) {
	for i := len(v.list) - 1; i >= before; i-- {
		p := v.list[i]
		names, err := t.tagged(p.folder)
		if err != nil {
			return nil, false, err
		}
		if names == h {
			right = true
			continue
		}
		line, err := v.anchorLine(p)
		if err != nil {
			return nil, false, err
		}
		out = append(out, missingTag{p.folder, h, c, line, names})
	}
	return out, right, nil
}

// pruneTags removes the tags of phases that the tape no longer has.
func (t *Tape) pruneTags(ctx context.Context, list []phase) error {
	tags, err := t.store.git.Refs(tagPrefix + t.slug + "/")
	if err != nil {
		return err
	}
	for _, tag := range tags {
		folder := strings.TrimPrefix(tag.Name, tagPrefix+t.slug+"/")
		if slices.ContainsFunc(list, func(p phase) bool { return p.folder == folder }) {
			continue
		}
		if err := t.store.git.UpdateRef(ctx, gitstore.RefUpdate{Name: tag.Name, Old: tag.Hash, Message: "tape: reset"}); err != nil {
			return err
		}
	}
	return nil
}

// tagged returns the commit that a phase's tag is on; zero if there is no tag, or one of
// an object that is gone.
func (t *Tape) tagged(folder string) (gitstore.Hash, error) {
	h, err := t.store.git.Ref(t.tagRef(folder))
	if err == nil {
		h, err = t.store.git.Peel(h)
	}
	if errors.Is(err, gitstore.ErrNotFound) {
		return gitstore.ZeroHash, nil
	}
	return h, err
}

func (t *Tape) makeTag(ctx context.Context, folder string, h gitstore.Hash, c gitstore.Commit, line []byte) error {
	batch := t.store.git.NewBatch()
	ref := t.tagRef(folder)
	tag, err := t.putTag(ctx, batch, ref, h, c, line)
	if err != nil {
		batch.Discard()
		return err
	}
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	return t.setTag(ctx, ref, tag, c.Committer)
}

// tagTargets maps the folders of phases to the commits that their tags name.
func (t *Tape) tagTargets() (map[string]gitstore.Hash, error) {
	prefix := tagPrefix + t.slug + "/"
	tags, err := t.store.git.Refs(prefix)
	if err != nil {
		return nil, classify(err)
	}
	out := make(map[string]gitstore.Hash, len(tags))
	for _, tag := range tags {
		commit, err := t.store.git.Peel(tag.Hash)
		if errors.Is(err, gitstore.ErrNotFound) {
			continue // verify makes it again
		}
		if err != nil {
			return nil, &CorruptError{File: tag.Name, Msg: err.Error(), Fix: "delete the tag, the next command makes it again: git tag -d " + shellWord(shortTag(tag.Name))}
		}
		out[strings.TrimPrefix(tag.Name, prefix)] = commit
	}
	return out, nil
}
