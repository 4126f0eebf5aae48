package audit

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"unicode"
)

// Limits of what is read of a hostile source, in bytes. Sizes are looked at before anything
// is inflated.
const (
	smallFile   = 1 << 20  // tape.json, and what a tag has besides an anchor
	LargeCommit = 4 << 20  // a commit object: names of anchors have at most 64 KiB
	largeTree   = 16 << 20 // a folder: some hundred thousand phases
)

// takeOut is the advice for what does not belong in a tape.
const takeOut = "it has to be taken out there, with its history"

func (a *audit) maxLine() int { return a.s.Config().MaxLine }

// largeFile is how large a file of a phase can be: full but for a byte, and one more line.
func (a *audit) largeFile() int64 { return layout.SealSize + int64(a.maxLine()) + 1 }

// Commit reads a commit object.
func (a *audit) Commit(h gitstore.Hash) (gitstore.Commit, error) {
	if err := a.Small(h, "the commit "+short(h), LargeCommit, ""); err != nil {
		return gitstore.Commit{}, err
	}
	c, err := a.s.Git().Commit(h)
	if err != nil {
		return c, layout.CorruptObject(h, err)
	}
	if a.hostile && len(c.Parents) > 2 {
		return c, layout.Refused("merge one branch after the other", "the commit %s has %d parents; a tape's has two at most", short(h), len(c.Parents))
	}
	return c, nil
}

// readTag reads the tag of a handoff.
func (a *audit) readTag(ref string, h gitstore.Hash) (gitstore.Tag, error) {
	if err := a.Small(h, "the tag "+short(h), int64(a.maxLine()+smallFile), ""); err != nil {
		return gitstore.Tag{}, err
	}
	tag, err := a.s.Git().Tag(h)
	if err != nil {
		return tag, layout.Refused("", "not an annotated tag of a commit: %v", err)
	}
	if "refs/tags/"+tag.Name != ref {
		return tag, layout.Refused("", "the tag calls itself %.200q", tag.Name)
	}
	return tag, nil
}

// Small refuses an object of a hostile source that is larger than it may be.
func (a *audit) Small(h gitstore.Hash, what string, limit int64, hint string) error {
	if !a.hostile {
		return nil
	}
	size, err := a.s.Git().BlobSize(h)
	if err != nil {
		return &layout.CorruptError{File: what, Msg: err.Error()}
	}
	if size > limit {
		return layout.Refused(hint, "%s has %d bytes; the limit is %d", what, size, limit)
	}
	return nil
}

// file reads a file; where names it in messages.
func (a *audit) file(h gitstore.Hash, where string, limit int64) ([]byte, error) {
	hint := ""
	if limit > smallFile {
		hint = "lines may be longer after: tape config max_line BYTES; instead of a clone: tape init, that, tape remote add, tape pull"
	}
	if err := a.Small(h, where, limit, hint); err != nil {
		return nil, err
	}
	data, err := a.s.Git().Blob(h)
	if err != nil {
		return nil, &layout.CorruptError{File: where, Msg: err.Error()}
	}
	return data, nil
}

// info reads tape.json.
func (a *audit) info(root []gitstore.TreeEntry, where string) (layout.TapeInfo, error) {
	e, ok := layout.FindEntry(root, layout.TapeFile)
	if !ok {
		return layout.TapeInfo{}, violation(folderOf(where), "there is no "+layout.TapeFile)
	}
	raw, err := a.file(e.Hash, where+layout.TapeFile, smallFile)
	if err != nil {
		return layout.TapeInfo{}, err
	}
	return layout.DecodeTapeInfo(raw, where+layout.TapeFile)
}

// folder reads a tree object as it is.
func (a *audit) folder(h gitstore.Hash, where string) ([]byte, error) {
	if err := a.Small(h, where, largeTree, ""); err != nil {
		return nil, err
	}
	kind, raw, err := a.s.Git().Read(h)
	if err == nil && kind != gitstore.KindTree {
		err = fmt.Errorf("it is a %s, not a folder", kind)
	}
	if err != nil {
		return nil, &layout.CorruptError{File: where, Msg: err.Error()}
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

func (e rawEntry) isDir() bool { return string(e.mode) == "40000" }

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
func (a *audit) entries(h gitstore.Hash, where string, belongs func(e rawEntry) bool) ([]gitstore.TreeEntry, error) {
	raw, err := a.folder(h, where)
	if err != nil {
		return nil, err
	}
	var out []gitstore.TreeEntry
	var before rawEntry
	for len(raw) > 0 {
		e, rest, ok := cutEntry(raw)
		switch {
		case !ok:
			return nil, &layout.CorruptError{File: where, Msg: "damaged tree"}
		case !belongs(e):
			return nil, foreign(where, e)
		case before.all != nil && compareEntries(before, e) >= 0:
			return nil, violation(where, "%.100q is there twice, or out of order", e.name)
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
	return string(e.name) == layout.TapeFile && e.isFile() || string(e.name) == layout.AnchorsDir && e.isDir()
}

func isPhaseEntry(e rawEntry) bool {
	_, slug, ok := layout.ParseFolder(string(e.name))
	return ok && e.isDir() && slug == layout.Slugify(slug, layout.SlugLimit)
}

func isPhaseFile(e rawEntry) bool {
	_, _, ok := layout.ParseSegment(string(e.name))
	return (ok || string(e.name) == layout.AnchorFile) && e.isFile()
}

// folderOf names a folder in messages, given what stands before its files.
func folderOf(where string) string {
	return cmp.Or(strings.TrimSuffix(where, ":"), "the commit")
}

// foreign says what is wrong with an entry that does not belong in a folder of a tape.
func foreign(where string, e rawEntry) error {
	name := string(e.name)
	why := fmt.Sprintf("nothing but %s, %s and the files of phases belongs in a tape", layout.TapeFile, layout.AnchorsDir)
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
	case strings.HasPrefix(name, ".git") || name == "hooks" || name == "config" || name == layout.ConfigFile:
		why = "settings and hooks are not taken from a remote"
	case strings.HasPrefix(string(e.mode), "100") && !e.isFile():
		why = "its mode is " + string(e.mode) + "; files of a tape are 100644"
	case folded == foldName(layout.TapeFile) && name != layout.TapeFile, folded == foldName(layout.AnchorsDir) && name != layout.AnchorsDir:
		why = fmt.Sprintf("it cannot stand beside %s and %s on every file system", layout.TapeFile, layout.AnchorsDir)
	case e.isDir():
		why = "it is not the folder of a phase"
	}
	return &layout.CorruptError{File: folderOf(where), Msg: fmt.Sprintf("%.100q: %s", name, why), Fix: takeOut}
}

// shape refuses a commit's tree that has names, modes or sizes which no tape has. It is for
// merges of a hostile source, whose files are read by other ways than [audit.step]. What
// before has was looked at.
func (a *audit) shape(ctx context.Context, h, tree gitstore.Hash, before *past) error {
	if a.shaped[tree] {
		return nil
	}
	where := short(h) + ":"
	root, err := a.entries(tree, where, isRootEntry)
	if err != nil {
		return err
	}
	for _, e := range root {
		if e.IsDir() {
			err = a.shapePhases(ctx, e.Hash, where+e.Name, before)
		} else {
			err = a.Small(e.Hash, where+e.Name, smallFile, "")
		}
		if err != nil {
			return err
		}
	}
	a.shaped[tree] = true
	return nil
}

func (a *audit) shapePhases(ctx context.Context, anchors gitstore.Hash, where string, before *past) error {
	raw, err := a.folder(anchors, where)
	if err != nil {
		return err
	}
	d, err := difference(before.raw, raw, where)
	if err != nil {
		return err
	}
	for _, e := range append(d.changed, d.added...) {
		if err := ctx.Err(); err != nil {
			return err
		}
		phase, tree := where+"/"+string(e.name), e.hash()
		if a.shaped[tree] {
			continue
		}
		files, err := a.entries(tree, phase, isPhaseFile)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := a.Small(f.Hash, phase+"/"+f.Name, a.largeFile(), ""); err != nil {
				return err
			}
		}
		a.shaped[tree] = true
	}
	return nil
}

// differing is what a folder of phases has that another has not.
type differing struct {
	changed []rawEntry // under the same name
	was     []rawEntry // what the changed ones were
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
			return d, &layout.CorruptError{File: where, Msg: "damaged tree"}
		}
		if before.all != nil && compareEntries(before, e) >= 0 {
			return d, violation(where, "%.100q is there twice, or out of order", e.name)
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
			d.changed, d.was = append(d.changed, e), append(d.was, was)
			return nil
		}
		d.removed = was.name
	}
}
