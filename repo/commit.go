package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"unicode/utf8"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// Anchor is what a handoff writes.
type Anchor struct {
	Name    string
	State   json.RawMessage // a JSON object, or nil
	Summary string          // kept as state.summary
	Meta    json.RawMessage // a JSON object, or nil
	Date    string          // "" means now

	line []byte // a complete line to be stored as it is, if its id fits
}

// Handoff tells what a handoff made.
type Handoff struct {
	Anchor string // the new anchor's name
	Seq    int    // the number of the phase that it opens
	Entry  int64  // the anchor's id
	Commit string // the commit that holds the phase before it
	Tag    string // the tag of that commit, without refs/tags/
}

// Handoff closes the open phase: it writes an anchor, commits everything before it,
// and tags the commit.
func (t *Tape) Handoff(ctx context.Context, a Anchor) (Handoff, error) {
	var h Handoff
	_, err := t.Update(ctx, func(tx *Tx) (err error) {
		h, err = tx.Handoff(a)
		return err
	})
	return h, err
}

// Checkpoint commits what has been appended since the last commit, without an anchor.
// It returns how many entries that were, 0 with the present commit if there are none.
func (t *Tape) Checkpoint(ctx context.Context) (commit string, entries int64, err error) {
	err = t.write(ctx, func(w *writer) error {
		if w.uncommitted() > 0 {
			entries = w.uncommitted()
			if err := w.checkpoint(ctx); err != nil {
				return err
			}
		}
		commit = w.head.String()
		return nil
	})
	return commit, entries, err
}

// draft makes the anchor's entry.
func (a Anchor) draft() (Draft, error) {
	if a.line != nil {
		return StoredLine(a.line)
	}
	if err := checkName("an anchor", a.Name); err != nil {
		return Draft{}, err
	}
	state := bytes.TrimSpace(a.State)
	if state != nil {
		compact, err := compactObject("state", state)
		if err != nil {
			return Draft{}, err
		}
		state = compact
	}
	if !utf8.ValidString(a.Summary) {
		return Draft{}, invalid("", "the summary is not valid UTF-8")
	}
	if a.Summary != "" {
		summary := jsonl.AppendString([]byte(`"summary":`), a.Summary)
		switch {
		case jsonl.Get(state, "summary") != nil:
			return Draft{}, invalid("give it once", "there is a summary, and another one in the state")
		case len(state) <= len("{}"):
			state = slices.Concat([]byte("{"), summary, []byte("}"))
		default:
			state = slices.Concat(state[:len(state)-1], []byte(","), summary, []byte("}"))
		}
	}
	payload := jsonl.AppendString([]byte(`{"name":`), a.Name)
	if state != nil {
		payload = append(append(payload, `,"state":`...), state...)
	}
	return Draft{Kind: KindAnchor, Payload: append(payload, '}'), Meta: a.Meta, Date: a.Date}, nil
}

// StoredAnchor makes an anchor of a complete entry line, as StoredLine does.
func StoredAnchor(line []byte) (Anchor, error) {
	e, err := jsonl.Parse(line)
	if err != nil {
		return Anchor{}, invalid("", "%v", err)
	}
	name := jsonl.GetString(e.Payload, "name")
	if e.Kind != KindAnchor || name == "" {
		return Anchor{}, invalid("", "not an anchor with a name")
	}
	return Anchor{Name: name, line: e.Raw}, nil
}

// Checkpoint commits everything up to here, those entries included that were appended
// before the Tx. With nothing new it does nothing.
func (tx *Tx) Checkpoint() error {
	w := tx.w
	n := w.uncommitted()
	if n == 0 {
		return nil
	}
	if err := tx.loadBase(); err != nil {
		return err
	}
	if err := tx.setPhase(w.st.Folder, tx.base.phase); err != nil {
		return err
	}
	_, err := tx.commit(checkpointSubject(n))
	return err
}

func checkpointSubject(n int64) string { return "checkpoint: " + countEntries(n) }

func countEntries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.FormatInt(n, 10) + " entries"
}

// Handoff closes the open phase and opens the next one.
func (tx *Tx) Handoff(a Anchor) (Handoff, error) {
	w := tx.w
	d, err := a.draft()
	if err != nil {
		return Handoff{}, err
	}
	line, err := w.t.encode(w.st.LastID+1, d)
	if err != nil {
		return Handoff{}, err
	}
	if err := tx.loadBase(); err != nil {
		return Handoff{}, err
	}
	if err := tx.setPhase(w.st.Folder, tx.base.phase); err != nil {
		return Handoff{}, err
	}
	if err := tx.flushAll(); err != nil {
		return Handoff{}, err
	}
	if err := tx.openPhase(a.Name, line); err != nil {
		return Handoff{}, err
	}
	c, err := tx.commit("handoff: " + oneLine(a.Name))
	if err != nil {
		return Handoff{}, err
	}
	return tx.tagLast(c, opened{w.st.Seq, w.st.Folder, w.st.LastID, line})
}

// opened is a phase that a commit opens.
type opened struct {
	seq    int
	folder string
	entry  int64
	line   []byte // the anchor's
}

// tagLast plans the tag of a phase on the last commit.
func (tx *Tx) tagLast(c gitstore.Commit, p opened) (Handoff, error) {
	last := &tx.commits[len(tx.commits)-1]
	ref := tx.w.t.tagRef(p.folder)
	hash, err := tx.w.t.putTag(tx.ctx, tx.batch, ref, last.hash, c, p.line)
	if err != nil {
		return Handoff{}, err
	}
	last.tags = append(last.tags, gitstore.Ref{Name: ref, Hash: hash})
	e, err := jsonl.Parse(bytes.TrimSuffix(p.line, []byte("\n")))
	if err != nil {
		return Handoff{}, err
	}
	h := Handoff{Anchor: jsonl.GetString(e.Payload, "name"), Seq: p.seq, Entry: p.entry, Commit: last.hash.String(), Tag: shortTag(ref)}
	tx.result.Handoffs = append(tx.result.Handoffs, h)
	return h, nil
}

// openPhase creates the folder of the next phase with its anchor.
func (tx *Tx) openPhase(name string, line []byte) error {
	w, d := tx.w, tx.w.t.store.fs
	w.st.Seq++
	w.st.LastID++
	w.st.Folder, w.st.Anchor = folderName(w.st.Seq, name), name
	w.st.Tails = [classCount]tail{}
	tx.open, tx.sealed = [classCount]*openFile{}, map[string]gitstore.Hash{}
	tx.base.phase = nil
	tx.count(w.st.LastID)
	if err := d.Mkdir(w.phasePath()); err != nil {
		return err
	}
	tx.dirs[w.anchorsPath()], tx.dirs[w.phasePath()] = true, true
	f, err := d.OpenFile(w.phasePath(anchorFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		return errors.Join(err, f.Close())
	}
	tx.syncLater(&openFile{file: f})
	return tx.setPhase(w.st.Folder, nil)
}

// commit plans a commit of the tree as it now is.
func (tx *Tx) commit(subject string) (gitstore.Commit, error) { return tx.commitMerge(subject, nil) }

// commitMerge plans one that has parents besides the tape.
func (tx *Tx) commitMerge(subject string, merged []gitstore.Hash, more ...trailer) (gitstore.Commit, error) {
	w := tx.w
	anchors := gitstore.TreeEntry{Name: anchorsDir, Mode: gitstore.ModeDir, Hash: tx.put(gitstore.KindTree, gitstore.EncodeTree(tx.base.anchors))}
	setEntry(&tx.base.root, anchors)
	root := tx.put(gitstore.KindTree, gitstore.EncodeTree(tx.base.root))
	c := gitstore.Commit{Tree: root, Parents: append([]gitstore.Hash{tx.base.parent}, merged...),
		Message: w.t.message(subject, w.st.Anchor, w.st.Committed+1, w.st.LastID, more...)}
	h, err := w.t.putCommit(tx.ctx, tx.batch, &c)
	if err != nil {
		return c, err
	}
	tx.base.parent = h
	tx.commits = append(tx.commits, plannedCommit{hash: h, subject: subject})
	w.st.Committed = w.st.LastID
	tx.result.Commit = h.String()
	return c, nil
}

// putCommit signs a commit with the user's identity, and with a key if git's
// configuration says so, and stores it.
func (t *Tape) putCommit(ctx context.Context, b *gitstore.Batch, c *gitstore.Commit) (gitstore.Hash, error) {
	var err error
	if c.Author, c.Committer, err = t.store.git.Identity(t.store.now()); err != nil {
		return gitstore.ZeroHash, err
	}
	raw := gitstore.EncodeCommit(*c)
	signer, err := t.store.git.Signer()
	if err != nil {
		return gitstore.ZeroHash, err
	}
	if signer != nil && signer.Commits() {
		sig, err := signer.Sign(ctx, raw)
		if err != nil {
			return gitstore.ZeroHash, err
		}
		raw = gitstore.InsertCommitSignature(raw, sig)
	}
	return b.Put(gitstore.KindCommit, raw), nil
}

// moveBranch makes the planned commits true: the branch, then the tags, then the
// index of the working tree. Only the branch can fail; what is missing of the rest
// follows from the commits, and the next writer makes it.
func (tx *Tx) moveBranch() error {
	w, git := tx.w, tx.w.t.store.git
	last := tx.commits[len(tx.commits)-1]
	w.st.Undo.Next = last.hash.String()
	if err := w.save(true); err != nil {
		return err
	}
	_, who, err := git.Identity(w.t.store.now())
	if err != nil {
		return err
	}
	err = git.UpdateRef(tx.ctx, gitstore.RefUpdate{Name: w.t.branch, Old: w.head, New: last.hash, Message: "tape: " + last.subject, Who: who})
	if err != nil {
		if now, readErr := w.t.head(); readErr != nil || now != last.hash {
			return err
		}
	}
	w.head = last.hash
	ctx := context.WithoutCancel(tx.ctx)
	for _, c := range tx.commits {
		for _, tag := range c.tags {
			if err := w.t.setTag(ctx, tag.Name, tag.Hash, who); err != nil {
				w.t.store.warn("the tag " + shortTag(tag.Name) + " will be made by the next command: " + err.Error())
				tx.incomplete = true
				return nil
			}
		}
	}
	if err := w.t.store.updateIndex(ctx, w.wt, slices.Collect(maps.Values(tx.changes))); err != nil {
		w.t.store.warn("git status will be out of date until the next command: " + err.Error())
		tx.incomplete = true
	}
	return nil
}
