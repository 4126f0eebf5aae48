package outgoing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// outgoing reads what a push would send for a tape.
type outgoing struct {
	*SecretScan
	trees  map[[2]gitstore.Hash]bool // pairs of trees, new and old, that were compared
	blobs  map[gitstore.Hash]int     // the offset from which a blob was searched
	jobs   chan scanJob
	number int // of the next job
}

func (o *outgoing) read(ctx context.Context, tips []gitstore.Hash) error {
	var commits []gitstore.Hash
	for _, tip := range tips {
		h, err := o.tag(ctx, tip)
		if err != nil {
			return err
		}
		if !h.IsZero() {
			commits = append(commits, h)
		}
	}
	list, err := o.commits(ctx, commits)
	if err != nil {
		return err
	}
	for _, h := range slices.Backward(list) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := o.commit(ctx, h); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return layout.CorruptObject(h, err)
		}
	}
	return nil
}

// tag returns the commit that a tip names, and queues the messages of annotated tags on the way. It returns
// zero if the commit is already known, or if the tip names a tree or blob, which is then queued itself.
func (o *outgoing) tag(ctx context.Context, h gitstore.Hash) (gitstore.Hash, error) {
	for {
		if h.IsZero() || o.known[h] || o.seen[h] {
			return gitstore.ZeroHash, nil
		}
		kind, raw, err := o.s.Git().Read(h)
		if err != nil {
			return h, layout.CorruptObject(h, err)
		}
		switch kind {
		case gitstore.KindCommit:
			return h, nil
		case gitstore.KindTree:
			return gitstore.ZeroHash, o.tree(ctx, h, "", h, gitstore.ZeroHash)
		case gitstore.KindBlob:
			return gitstore.ZeroHash, o.send(ctx, scanJob{commit: h, file: "blob", text: raw})
		}
		o.seen[h] = true
		if err := o.send(ctx, scanJob{commit: h, file: "message", message: true, text: authoredText(raw)}); err != nil {
			return h, err
		}
		t, err := gitstore.DecodeTag(raw)
		if t.Object.IsZero() {
			return h, fmt.Errorf("tag %s: %w", h, err)
		}
		h = t.Object // of any kind, even another tag
	}
}

// commits lists the reachable commits that are not known, roughly the newest first.
func (o *outgoing) commits(ctx context.Context, queue []gitstore.Hash) (list []gitstore.Hash, err error) {
	root := false
	for ; len(queue) > 0; queue = queue[1:] {
		h := queue[0]
		if o.seen[h] || o.known[h] {
			continue
		}
		o.seen[h] = true
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := o.s.Git().Commit(h)
		if err != nil {
			return nil, layout.CorruptObject(h, err)
		}
		list, queue = append(list, h), append(queue, c.Parents...)
		root = root || len(c.Parents) == 0
	}
	if root && len(o.known) > 0 {
		// The walk reached the beginning, so it may have passed known commits and met their ancestors.
		err = o.closeKnown(ctx)
		list = slices.DeleteFunc(list, func(h gitstore.Hash) bool { return o.known[h] })
	}
	return list, err
}

// closeKnown adds the ancestors of all known commits to known.
func (o *outgoing) closeKnown(ctx context.Context) error {
	for len(o.open) > 0 {
		h := o.open[0]
		o.open = o.open[1:]
		if err := ctx.Err(); err != nil {
			return err
		}
		switch kind, raw, err := o.s.Git().Read(h); {
		case errors.Is(err, gitstore.ErrNotFound): // not here, so it cannot be sent either
		case err != nil:
			return err
		case kind == gitstore.KindTag:
			if t, err := gitstore.DecodeTag(raw); err == nil {
				o.AddKnown(t.Object)
			}
		case kind == gitstore.KindCommit:
			c, err := gitstore.DecodeCommit(raw)
			if err != nil {
				return fmt.Errorf("commit %s: %w", h, err)
			}
			o.AddKnown(c.Parents...)
		}
	}
	return nil
}

// commit queues a commit's message, and what its tree adds to that of its first parent.
func (o *outgoing) commit(ctx context.Context, h gitstore.Hash) error {
	_, raw, err := o.s.Git().Read(h)
	if err != nil {
		return err
	}
	c, err := gitstore.DecodeCommit(raw)
	if err != nil {
		return err
	}
	if err := o.send(ctx, scanJob{commit: h, file: "message", message: true, text: authoredText(raw)}); err != nil {
		return err
	}
	var before gitstore.Hash
	if len(c.Parents) > 0 {
		parent, err := o.s.Git().Commit(c.Parents[0])
		if err != nil {
			return err
		}
		before = parent.Tree
	}
	return o.tree(ctx, h, "", c.Tree, before)
}

// authoredText returns what people wrote into a commit or tag: the message, names, and header lines other
// than git's own.
func authoredText(raw []byte) []byte {
	head, message, _ := bytes.Cut(raw, []byte("\n\n"))
	text := bytes.Clone(message)
	signature := false
	for line := range bytes.Lines(head) {
		key, _, _ := bytes.Cut(line, []byte(" "))
		switch string(key) {
		case "tree", "parent", "object", "type", "tag":
			signature = false
		case "gpgsig", "gpgsig-sha256":
			signature = true
		case "": // continues the previous line
			if !signature {
				text = append(append(text, '\n'), line...)
			}
		default:
			signature = false
			text = append(append(text, '\n'), line...)
		}
	}
	return text
}

// tree queues what a tree has in addition to another one, which may be zero.
func (o *outgoing) tree(ctx context.Context, commit gitstore.Hash, path string, now, before gitstore.Hash) error {
	if now == before || o.trees[[2]gitstore.Hash{now, before}] {
		return nil
	}
	o.trees[[2]gitstore.Hash{now, before}] = true
	entries, err := o.s.Git().Tree(now)
	if err != nil {
		return err
	}
	had := map[string]gitstore.TreeEntry{}
	if !before.IsZero() {
		old, err := o.s.Git().Tree(before)
		if err != nil {
			return err
		}
		for len(old) > 0 && len(entries) > 0 && old[0] == entries[0] { // usually all phases but the last
			old, entries = old[1:], entries[1:]
		}
		for _, e := range old {
			had[e.Name] = e
		}
	}
	const modeLink = 0o160000
	for _, e := range entries {
		old := had[e.Name]
		if old.Hash == e.Hash || e.Mode == modeLink { // submodules are not pushed
			continue
		}
		if old.IsDir() != e.IsDir() || old.Mode == modeLink {
			old = gitstore.TreeEntry{}
		}
		if e.IsDir() {
			err = o.tree(ctx, commit, path+e.Name+"/", e.Hash, old.Hash)
		} else {
			err = o.blob(ctx, commit, path+e.Name, e.Hash, old.Hash)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// blob queues what a file has in addition to another one, which may be zero.
func (o *outgoing) blob(ctx context.Context, commit gitstore.Hash, path string, now, before gitstore.Hash) error {
	from, known := o.blobs[now]
	if known && from == 0 {
		return nil
	}
	data, err := o.s.Git().Blob(now)
	if err != nil {
		return err
	}
	j := scanJob{commit: commit, file: path, lines: isEntryFile(path)}
	start := 0
	if !before.IsZero() {
		if j.before, err = o.s.Git().Blob(before); err != nil {
			return err
		}
		if j.lines && bytes.HasSuffix(j.before, []byte("\n")) && bytes.HasPrefix(data, j.before) {
			start, j.before = len(j.before), nil // it only grew
		}
	}
	if known && from <= start {
		return nil
	}
	o.blobs[now] = start
	j.text = data[start:]
	return o.send(ctx, j)
}

func (o *outgoing) send(ctx context.Context, j scanJob) error {
	j.number = o.number
	o.number++
	select {
	case o.jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
