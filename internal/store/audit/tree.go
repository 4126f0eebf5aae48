package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"unicode"
)

// Limits, in bytes, for what is read from a hostile source. Sizes are checked before inflating.
const (
	smallFile   = 1 << 20  // tape.json, and a tag without its anchor
	LargeCommit = 4 << 20  // a commit object: names of anchors have at most 64 KiB
	largeTree   = 16 << 20 // a folder: some hundred thousand phases
)

// takeOut is the hint for files that do not belong in a tape.
const takeOut = "it has to be removed there, with its history"

func (a *audit) maxLine() int { return a.s.Config().MaxLine }

// largeFile is the limit for a file of a phase: one byte less than full, and one more line.
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

// Small refuses an object of a hostile source that is over its size limit.
func (a *audit) Small(h gitstore.Hash, what string, limit int64, hint layout.HintKind) error {
	if !a.hostile {
		return nil
	}
	size, err := a.s.Git().BlobSize(h)
	if err != nil {
		return &layout.CorruptError{File: what, Msg: err.Error()}
	}
	if size > limit {
		err := layout.Refused("", "%s has %d bytes; the limit is %d", what, size, limit)
		if hint != "" {
			err = err.Try(hint)
		}
		return err
	}
	return nil
}

// file reads a file. Errors name the file by where.
func (a *audit) file(h gitstore.Hash, where string, limit int64) ([]byte, error) {
	var hint layout.HintKind
	if limit > smallFile {
		hint = layout.AllowLongLines
	}
	if err := a.Small(h, where, limit, hint); err != nil {
		return nil, err
	}
	data, err := a.s.Git().Blob(h)
	if err != nil {
		return nil, &layout.CorruptError{File: where, Msg: err.Error(), Fix: layout.FromCopy}
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

// folder reads a folder. It refuses repeated names, names that are not in git's order, and modes that
// begin with a zero.
func (a *audit) folder(h gitstore.Hash, where string) ([]gitstore.TreeEntry, error) {
	if err := a.Small(h, where, largeTree, ""); err != nil {
		return nil, err
	}
	kind, raw, err := a.s.Git().Read(h)
	if err == nil && kind != gitstore.KindTree {
		err = fmt.Errorf("it is a %s, not a folder", kind)
	}
	var out []gitstore.TreeEntry
	if err == nil {
		out, err = gitstore.DecodeAnyTree(raw)
	}
	if err != nil {
		return nil, &layout.CorruptError{File: where, Msg: err.Error(), Fix: layout.FromCopy}
	}
	for i, e := range out {
		if i > 0 && out[i-1].Compare(e) >= 0 {
			return nil, violation(where, "%.100q is repeated or out of order", e.Name)
		}
	}
	if len(gitstore.EncodeTree(out)) != len(raw) {
		return nil, violation(where, "one of its modes begins with a zero")
	}
	return out, nil
}

// entries reads a folder of a tape, and refuses entries that do not belong there.
func (a *audit) entries(h gitstore.Hash, where string, belongs func(e gitstore.TreeEntry) bool) ([]gitstore.TreeEntry, error) {
	out, err := a.folder(h, where)
	for _, e := range out {
		if !belongs(e) {
			return nil, foreign(where, e)
		}
	}
	return out, err
}

func isRootEntry(e gitstore.TreeEntry) bool {
	return slices.Contains(layout.RootFiles(), e.Name) && e.Mode == gitstore.ModeFile || e.Name == layout.AnchorsDir && e.IsDir()
}

func isPhaseEntry(e gitstore.TreeEntry) bool {
	_, slug, ok := layout.ParseFolder(e.Name)
	return ok && e.IsDir() && slug == layout.Slugify(slug, layout.SlugLimit)
}

func isPhaseFile(e gitstore.TreeEntry) bool {
	_, _, ok := layout.ParseSegment(e.Name)
	return (ok || e.Name == layout.AnchorFile) && e.Mode == gitstore.ModeFile || isArtifactsDir(e)
}

// folderOf returns the name of a folder in messages, given the text before the names of its files.
func folderOf(where string) string {
	return cmp.Or(strings.TrimSuffix(where, ":"), "the commit")
}

// foreign describes an entry that does not belong in a folder of a tape.
func foreign(where string, e gitstore.TreeEntry) error {
	name := e.Name
	why := fmt.Sprintf("nothing but %s, %s, %s and the files of phases belongs in a tape", layout.TapeFile, layout.ReadmeFile, layout.AnchorsDir)
	folded := foldName(name)
	switch {
	case isDotGit(folded):
		why = "some file systems take it for .git"
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`):
		why = "the name leads out of its folder"
	case strings.IndexFunc(name, unicode.IsControl) >= 0:
		why = "the name has control characters"
	case e.Mode == 0o120000:
		why = "it is a symbolic link"
	case e.Mode == 0o160000:
		why = "it is a submodule"
	case strings.HasPrefix(name, ".git") || name == "hooks" || name == "config" || name == layout.ConfigFile:
		why = "settings and hooks are not accepted from a remote"
	case e.Mode>>9 == 0o100 && e.Mode != gitstore.ModeFile:
		why = fmt.Sprintf("its mode is %o; files of a tape are 100644", e.Mode)
	case folded == foldName(layout.TapeFile) && name != layout.TapeFile, folded == foldName(layout.AnchorsDir) && name != layout.AnchorsDir:
		why = fmt.Sprintf("some file systems take it for %s or %s", layout.TapeFile, layout.AnchorsDir)
	case e.IsDir():
		why = "it is not the folder of a phase"
	}
	return &layout.CorruptError{File: folderOf(where), Msg: fmt.Sprintf("%.100q: %s", name, why), Fix: takeOut}
}

// shape refuses a tree with names, modes or sizes that no tape has. It is for merges of a hostile
// source, whose files [audit.step] does not read. Everything that before has is known to be valid.
func (a *audit) shape(ctx context.Context, h, tree gitstore.Hash, before *state) error {
	if a.shaped[tree] {
		return nil
	}
	where := short(h) + ":"
	root, _, d, err := a.root(tree, where, before)
	if err != nil {
		return err
	}
	for _, e := range root {
		if e.IsDir() {
			continue
		}
		if err := a.Small(e.Hash, where+e.Name, smallFile, ""); err != nil {
			return err
		}
	}
	for _, e := range append(d.changed, d.added...) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if a.shaped[e.Hash] {
			continue
		}
		phase := where + layout.AnchorsDir + "/" + e.Name
		files, err := a.entries(e.Hash, phase, isPhaseFile)
		if err != nil {
			return err
		}
		if err := a.artifactSizes(files, phase); err != nil {
			return err
		}
		for _, f := range files {
			if f.IsDir() {
				continue
			}
			if err := a.Small(f.Hash, phase+"/"+f.Name, a.largeFile(), ""); err != nil {
				return err
			}
		}
		a.shaped[e.Hash] = true
	}
	a.shaped[tree] = true
	return nil
}

// phaseDiff is how the phases of a commit differ from those of an earlier state.
type phaseDiff struct {
	list    []gitstore.TreeEntry // all phases of the commit
	changed []gitstore.TreeEntry // those with the same name and different content
	was     []gitstore.TreeEntry // the former content of the changed ones
	added   []gitstore.TreeEntry
	removed string // the name of one that is gone
}

// root reads a commit's tree, and compares its phases with those of a valid state. It checks only the
// names of phases that differ, usually one among thousands.
func (a *audit) root(tree gitstore.Hash, where string, before *state) (root []gitstore.TreeEntry, anchors gitstore.Hash, d phaseDiff, err error) {
	if root, err = a.entries(tree, where, isRootEntry); err != nil {
		return nil, anchors, d, err
	}
	e, ok := layout.FindEntry(root, layout.AnchorsDir)
	if !ok || e.Hash == before.anchors {
		return root, e.Hash, d, nil
	}
	where += layout.AnchorsDir
	if d.list, err = a.folder(e.Hash, where); err != nil {
		return nil, anchors, d, err
	}
	old := before.list
	for _, e := range d.list {
		for len(old) > 0 && old[0].Compare(e) < 0 {
			d.removed, old = old[0].Name, old[1:]
		}
		same := len(old) > 0 && old[0].Name == e.Name
		switch {
		case same && old[0] == e:
		case !isPhaseEntry(e):
			return nil, anchors, d, foreign(where, e)
		case same:
			d.changed, d.was = append(d.changed, e), append(d.was, old[0])
		default:
			d.added = append(d.added, e)
		}
		if same {
			old = old[1:]
		}
	}
	if len(old) > 0 {
		d.removed = old[0].Name
	}
	return root, e.Hash, d, nil
}
