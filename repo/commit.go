package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// treeBase is the branch's tree, as the commits of a Tx change it.
type treeBase struct {
	root    []gitstore.TreeEntry
	anchors []gitstore.TreeEntry
	phase   []gitstore.TreeEntry // the open phase, as committed; nil if it is not
	parent  gitstore.Hash
}

type plannedCommit struct {
	hash    gitstore.Hash
	subject string
	tag     string        // full ref, "" if none
	tagHash gitstore.Hash // the tag object
}

func (tx *Tx) loadBase() error {
	if tx.base != nil {
		return nil
	}
	v, err := tx.w.t.store.commitView(tx.w.head)
	if err != nil {
		return err
	}
	b := &treeBase{root: v.root, parent: tx.w.head}
	for _, p := range v.list {
		b.anchors = append(b.anchors, gitstore.TreeEntry{Name: p.folder, Mode: gitstore.ModeDir, Hash: p.tree})
	}
	if last := v.list[len(v.list)-1]; last.folder == tx.w.st.Folder {
		if b.phase, err = v.tree(last); err != nil {
			return err
		}
	}
	tx.base = b
	return tx.addUncommittedPhases(v)
}

// addUncommittedPhases takes in folders that somebody made by hand.
func (tx *Tx) addUncommittedPhases(v *commitView) error {
	last := v.list[len(v.list)-1]
	if last.seq >= tx.w.st.Seq {
		return nil
	}
	list, err := listPhases(tx.w.wt.Dir)
	if err != nil {
		return err
	}
	committed, err := v.tree(last)
	if err != nil {
		return err
	}
	// The last committed one may have grown before the next was opened.
	if err := tx.setPhase(last.folder, committed); err != nil {
		return err
	}
	for _, p := range list[last.seq : tx.w.st.Seq-1] {
		if err := tx.setPhase(p.folder, nil); err != nil {
			return err
		}
	}
	return nil
}

// setPhase puts the tree of a phase, with what its files hold now, under anchors.
func (tx *Tx) setPhase(folder string, committed []gitstore.TreeEntry) error {
	entries, err := tx.phaseTree(folder, committed)
	if err != nil {
		return err
	}
	e := gitstore.TreeEntry{Name: folder, Mode: gitstore.ModeDir, Hash: tx.put(gitstore.KindTree, gitstore.EncodeTree(entries))}
	setEntry(&tx.base.anchors, e)
	if folder == tx.w.st.Folder {
		tx.base.phase = entries
	}
	return nil
}

func setEntry(entries *[]gitstore.TreeEntry, e gitstore.TreeEntry) {
	for i := range *entries {
		if (*entries)[i].Name == e.Name {
			(*entries)[i] = e
			return
		}
	}
	*entries = append(*entries, e)
}

// phaseTree stores what a phase's files hold and the commit does not have yet. Only
// the last committed file of each class, and those behind it, can be new.
func (tx *Tx) phaseTree(folder string, committed []gitstore.TreeEntry) ([]gitstore.TreeEntry, error) {
	entries := slices.Clone(committed)
	if entries == nil {
		line, err := os.ReadFile(filepath.Join(tx.w.anchorsPath(), folder, anchorFile))
		if err != nil {
			return nil, err
		}
		tx.setFile(&entries, folder, anchorFile, tx.put(gitstore.KindBlob, line), int64(len(line)))
	}
	tails := tx.w.st.Tails
	if folder != tx.w.st.Folder {
		files, err := listSegments(filepath.Join(tx.w.anchorsPath(), folder))
		if err != nil {
			return nil, err
		}
		for c, list := range files {
			tails[c] = tail{Seg: len(list)}
		}
	}
	var newest [classCount]int
	for _, e := range committed {
		if c, n, ok := parseSegment(e.Name); ok {
			newest[c] = max(newest[c], n)
		}
	}
	for c := range classCount {
		for n := max(newest[c], 1); n <= tails[c].Seg; n++ {
			if err := tx.addFile(&entries, folder, c, n); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
}

// addFile stores one file of a phase, from memory where it is there.
func (tx *Tx) addFile(entries *[]gitstore.TreeEntry, folder string, c class, n int) error {
	name := segmentName(c, n)
	path := filepath.Join(tx.w.anchorsPath(), folder, name)
	if h, ok := tx.sealed[name]; ok && folder == tx.w.st.Folder {
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		tx.setFile(entries, folder, name, h, st.Size())
		return nil
	}
	var data []byte
	if file := tx.open[c]; folder == tx.w.st.Folder && file != nil && file.n == n {
		data = slices.Clone(file.data)
	} else {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return err
		}
		if n < tx.w.st.Tails[c].Seg && folder == tx.w.st.Folder {
			v := &diskView{dir: tx.w.wt.Dir, sealed: tx.w.t.seals}
			v.last[c] = make([]segment, tx.w.st.Tails[c].Seg)
			if err := v.checkSealed(phase{seq: tx.w.st.Seq, folder: folder}, name, data); err != nil {
				return err
			}
		}
	}
	if e, ok := findEntry(*entries, name); ok && e.Hash == gitstore.HashObject(gitstore.KindBlob, data) {
		return nil
	}
	tx.setFile(entries, folder, name, tx.put(gitstore.KindBlob, data), int64(len(data)))
	return nil
}

func (tx *Tx) setFile(entries *[]gitstore.TreeEntry, folder, name string, h gitstore.Hash, size int64) {
	setEntry(entries, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeFile, Hash: h})
	path := anchorsDir + "/" + folder + "/" + name
	tx.changes[path] = gitstore.IndexChange{Path: path, Hash: h, Mode: gitstore.ModeFile, Size: size}
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
	noun := "entries"
	if n == 1 {
		noun = "entry"
	}
	_, err := tx.commit(fmt.Sprintf("checkpoint: %d %s", n, noun))
	return err
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
	last := &tx.commits[len(tx.commits)-1]
	last.tag = w.t.tagRef(w.st.Folder)
	if last.tagHash, err = w.t.putTag(tx.ctx, tx.batch, last.tag, last.hash, c, line); err != nil {
		return Handoff{}, err
	}
	h := Handoff{Anchor: a.Name, Seq: w.st.Seq, Entry: w.st.LastID, Commit: last.hash.String(), Tag: shortTag(last.tag)}
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
func (tx *Tx) commit(subject string) (gitstore.Commit, error) {
	w := tx.w
	anchors := gitstore.TreeEntry{Name: anchorsDir, Mode: gitstore.ModeDir, Hash: tx.put(gitstore.KindTree, gitstore.EncodeTree(tx.base.anchors))}
	setEntry(&tx.base.root, anchors)
	root := tx.put(gitstore.KindTree, gitstore.EncodeTree(tx.base.root))
	c := gitstore.Commit{Tree: root, Parents: []gitstore.Hash{tx.base.parent},
		Message: w.t.message(subject, w.st.Anchor, w.st.Committed+1, w.st.LastID)}
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
		if c.tag == "" {
			continue
		}
		if err := w.t.setTag(ctx, c.tag, c.tagHash, who); err != nil {
			w.t.store.warn("the tag " + shortTag(c.tag) + " will be made by the next command: " + err.Error())
			tx.incomplete = true
			return nil
		}
	}
	if err := w.t.store.updateIndex(ctx, w.wt, slices.Collect(maps.Values(tx.changes))); err != nil {
		w.t.store.warn("git status will be out of date until the next command: " + err.Error())
		tx.incomplete = true
	}
	return nil
}
