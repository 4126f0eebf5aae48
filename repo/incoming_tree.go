package repo

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"tape/internal/gitstore"
)

// Limits of what is read of a remote, in bytes. Sizes are looked at before anything is
// inflated.
const (
	smallFile   = 1 << 20  // tape.json, and what a tag has besides an anchor
	largeCommit = 4 << 20  // a commit object: names of anchors have at most 64 KiB
	largeTree   = 16 << 20 // a folder: some hundred thousand phases
)

func (c *incomingCheck) maxLine() int { return c.s.config.MaxLine }

// largeFile is how large a file of a phase can be: full but for a byte, and one more line.
func (c *incomingCheck) largeFile() int64 { return SealSize + int64(c.maxLine()) + 1 }

// commit reads a commit object.
func (c *incomingCheck) commit(h gitstore.Hash) (gitstore.Commit, error) {
	if err := c.small(h, "the commit "+h.String()[:12], largeCommit, ""); err != nil {
		return gitstore.Commit{}, err
	}
	at, err := c.s.git.Commit(h)
	if err != nil {
		return at, corruptObject(h, err)
	}
	if len(at.Parents) > 2 {
		return at, refused("merge one branch after the other", "the commit %s has %d parents; a tape's has two at most", h.String()[:12], len(at.Parents))
	}
	return at, nil
}

// small refuses an object that is larger than it may be.
func (c *incomingCheck) small(h gitstore.Hash, what string, limit int64, hint string) error {
	size, err := c.s.git.BlobSize(h)
	if err != nil {
		return &CorruptError{File: what, Msg: err.Error()}
	}
	if size > limit {
		return refused(hint, "%s has %d bytes; the limit is %d", what, size, limit)
	}
	return nil
}

// file reads a file; where names it in messages.
func (c *incomingCheck) file(h gitstore.Hash, where string, limit int64) ([]byte, error) {
	hint := ""
	if limit > smallFile {
		hint = "lines may be longer after: tape config max_line BYTES; instead of a clone: tape init, that, tape remote add, tape pull"
	}
	if err := c.small(h, where, limit, hint); err != nil {
		return nil, err
	}
	data, err := c.s.git.Blob(h)
	if err != nil {
		return nil, &CorruptError{File: where, Msg: err.Error()}
	}
	return data, nil
}

// folder reads a tree object as it is.
func (c *incomingCheck) folder(h gitstore.Hash, where string) ([]byte, error) {
	if err := c.small(h, where, largeTree, ""); err != nil {
		return nil, err
	}
	kind, raw, err := c.s.git.Read(h)
	if err == nil && kind != gitstore.KindTree {
		err = fmt.Errorf("it is a %s, not a folder", kind)
	}
	if err != nil {
		return nil, &CorruptError{File: where, Msg: err.Error()}
	}
	return raw, nil
}

// rawEntry is an entry of a tree object; its parts are in the object's bytes.
type rawEntry struct {
	all, mode, name []byte
}

func (e rawEntry) hash() (h gitstore.Hash) {
	copy(h[:], e.all[len(e.all)-len(h):])
	return h
}

func (e rawEntry) isDir() bool  { return string(e.mode) == "40000" }
func (e rawEntry) isFile() bool { return string(e.mode) == "100644" }

// cutEntry takes the first entry off a tree object.
func cutEntry(raw []byte) (e rawEntry, rest []byte, ok bool) {
	space := bytes.IndexByte(raw, ' ')
	if space < 0 {
		return e, nil, false
	}
	nul := bytes.IndexByte(raw[space:], 0)
	if nul < 0 {
		return e, nil, false
	}
	end := space + nul + 1 + len(gitstore.Hash{})
	if len(raw) < end {
		return e, nil, false
	}
	return rawEntry{all: raw[:end:end], mode: raw[:space], name: raw[space+1 : space+nul]}, raw[end:], true
}

// compareEntries is git's order, in which a folder's name ends in a slash.
func compareEntries(a, b rawEntry) int {
	n := min(len(a.name), len(b.name))
	if d := bytes.Compare(a.name[:n], b.name[:n]); d != 0 {
		return d
	}
	end := func(e rawEntry) int {
		switch {
		case len(e.name) > n:
			return int(e.name[n])
		case e.isDir():
			return '/'
		}
		return 0
	}
	if d := end(a) - end(b); d != 0 {
		return d
	}
	return len(a.name) - len(b.name)
}

// entries reads a small folder of a tape: those entries that belong there, and no others.
func (c *incomingCheck) entries(h gitstore.Hash, where string, belongs func(e rawEntry) bool) ([]gitstore.TreeEntry, error) {
	raw, err := c.folder(h, where)
	if err != nil {
		return nil, err
	}
	var out []gitstore.TreeEntry
	var before rawEntry
	for len(raw) > 0 {
		e, rest, ok := cutEntry(raw)
		switch {
		case !ok:
			return nil, &CorruptError{File: where, Msg: "damaged tree"}
		case !belongs(e):
			return nil, foreign(where, e)
		case before.all != nil && compareEntries(before, e) >= 0:
			return nil, refused("", "%s: %.100q is there twice, or out of order", where, e.name)
		}
		mode := gitstore.ModeFile
		if e.isDir() {
			mode = gitstore.ModeDir
		}
		out = append(out, gitstore.TreeEntry{Name: string(e.name), Mode: mode, Hash: e.hash()})
		before, raw = e, rest
	}
	return out, nil
}

func isRootEntry(e rawEntry) bool {
	return string(e.name) == tapeFile && e.isFile() || string(e.name) == anchorsDir && e.isDir()
}

func isPhaseEntry(e rawEntry) bool {
	_, slug, ok := parseFolder(string(e.name))
	return ok && e.isDir() && slug == slugify(slug, slugLimit)
}

func isPhaseFile(e rawEntry) bool {
	_, _, ok := parseSegment(string(e.name))
	return (ok || string(e.name) == anchorFile) && e.isFile()
}

// foreign says what is wrong with an entry that does not belong in a folder of a tape.
func foreign(where string, e rawEntry) error {
	name := string(e.name)
	why := fmt.Sprintf("nothing but %s, %s and the files of phases belongs in a tape", tapeFile, anchorsDir)
	folded := foldName(name)
	switch {
	case gitstore.IsDotGit(folded):
		why = "some file systems take it for .git"
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`):
		why = "the name leads out of its folder"
	case strings.IndexFunc(name, unicode.IsControl) >= 0:
		why = "the name has control characters"
	case string(e.mode) == "120000":
		why = "it is a symbolic link"
	case string(e.mode) == "160000":
		why = "it is a submodule"
	case strings.HasPrefix(name, ".git") || name == "hooks" || name == "config" || name == configFile:
		why = "settings and hooks are not taken from a remote"
	case strings.HasPrefix(string(e.mode), "100") && !e.isFile():
		why = "its mode is " + string(e.mode) + "; files of a tape are 100644"
	case folded == foldName(tapeFile) && name != tapeFile, folded == foldName(anchorsDir) && name != anchorsDir:
		why = fmt.Sprintf("it cannot stand beside %s and %s on every file system", tapeFile, anchorsDir)
	case e.isDir():
		why = "it is not the folder of a phase"
	}
	return refused("it has to be taken out there, with its history", "%s: %.100q: %s", where, name, why)
}

// shape refuses a commit's tree that has names, modes or sizes which no tape has. It is for
// merges, whose files are read by other ways than [incomingCheck.step]. What before has
// was looked at.
func (c *incomingCheck) shape(h, tree gitstore.Hash, before *past) error {
	if c.shaped[tree] {
		return nil
	}
	where := h.String()[:12] + ":"
	root, err := c.entries(tree, where, isRootEntry)
	if err != nil {
		return err
	}
	for _, e := range root {
		if !e.IsDir() {
			err = c.small(e.Hash, where+e.Name, smallFile, "")
		} else if !c.shaped[e.Hash] {
			err = c.shapePhases(e.Hash, where+e.Name, before)
		}
		if err != nil {
			return err
		}
		c.shaped[e.Hash] = true
	}
	c.shaped[tree] = true
	return nil
}

func (c *incomingCheck) shapePhases(anchors gitstore.Hash, where string, before *past) error {
	raw, err := c.folder(anchors, where)
	if err != nil {
		return err
	}
	d, err := difference(before.raw, raw, where)
	if err != nil {
		return err
	}
	for _, e := range append(d.changed, d.added...) {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if err := c.shapePhase(e.hash(), where+"/"+string(e.name)); err != nil {
			return err
		}
	}
	return nil
}

func (c *incomingCheck) shapePhase(tree gitstore.Hash, where string) error {
	if c.shaped[tree] {
		return nil
	}
	files, err := c.entries(tree, where, isPhaseFile)
	if err != nil {
		return err
	}
	for _, f := range files {
		if c.shaped[f.Hash] {
			continue
		}
		if err := c.small(f.Hash, where+"/"+f.Name, c.largeFile(), ""); err != nil {
			return err
		}
		c.shaped[f.Hash] = true
	}
	c.shaped[tree] = true
	return nil
}

// differing is what a folder of phases has that another has not.
type differing struct {
	changed []rawEntry // under the same name
	added   []rawEntry
	removed []byte // the name of one that is gone, nil if all are there
}

// difference compares two folders of phases, the first of which is in order. It makes
// something of the entries that differ only: of thousands that is mostly one.
func difference(old, next []byte, where string) (d differing, err error) {
	var before rawEntry
	for len(next) > 0 {
		e, rest, ok := cutEntry(next)
		if !ok {
			return d, &CorruptError{File: where, Msg: "damaged tree"}
		}
		if before.all != nil && compareEntries(before, e) >= 0 {
			return d, refused("", "%s: %.100q is there twice, or out of order", where, e.name)
		}
		before, next = e, rest
		if bytes.HasPrefix(old, e.all) {
			old = old[len(e.all):]
			continue
		}
		if !isPhaseEntry(e) {
			return d, foreign(where, e)
		}
		if err := d.place(&old, e); err != nil {
			return d, err
		}
	}
	if gone, _, ok := cutEntry(old); ok {
		d.removed = gone.name
	}
	return d, nil
}

// place finds out whether an entry is in the place of an old one, or a new one.
func (d *differing) place(old *[]byte, e rawEntry) error {
	for {
		was, rest, ok := cutEntry(*old)
		if !ok || compareEntries(was, e) > 0 {
			d.added = append(d.added, e)
			return nil
		}
		*old = rest
		if bytes.Equal(was.name, e.name) {
			d.changed = append(d.changed, e)
			return nil
		}
		d.removed = was.name
	}
}
