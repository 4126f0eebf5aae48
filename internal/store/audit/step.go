package audit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/repair"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
)

// state is what the audit remembers of a commit, to compare the next one with.
type state struct {
	opened []string      // the phases that came with the commit
	name   string        // of the tape, in tape.json
	info   gitstore.Hash // of tape.json
	readme gitstore.Hash // of README.md; zero if the tape has none
	// attributes is the hash of .gitattributes; zero if the tape has none.
	attributes gitstore.Hash
	anchors    gitstore.Hash
	list       []gitstore.TreeEntry // the folders of phases
	phases     int
	last       int64 // id of the last entry

	// The open phase.
	folder string
	files  []gitstore.TreeEntry
	tails  [layout.ClassCount]lastFile
}

// lastFile is the last file of a class.
type lastFile struct {
	n    int    // its number; 0 if there is none
	data []byte // its content
}

// load reads the state after a commit without checking it. Phases that before lacks count as opened
// by the commit; if before is nil, all do.
func (a *audit) load(h gitstore.Hash, before *state) (*state, error) {
	v, err := snapshot.AtCommit(a.s, h)
	if err != nil {
		return nil, err
	}
	info, err := v.TapeInfo()
	if err != nil {
		return nil, err
	}
	file, _ := layout.FindEntry(v.Root, layout.TapeFile)
	readme, _ := layout.FindEntry(v.Root, layout.ReadmeFile)
	attributes, _ := layout.FindEntry(v.Root, layout.AttributesFile)
	anchors, _ := layout.FindEntry(v.Root, layout.AnchorsDir)
	open := v.List[len(v.List)-1]
	now := &state{name: info.Name, info: file.Hash, readme: readme.Hash, attributes: attributes.Hash, anchors: anchors.Hash, phases: len(v.List), folder: open.Folder}
	for _, phase := range v.List {
		if before == nil || phase.Seq > before.phases {
			now.opened = append(now.opened, phase.Folder)
		}
	}
	if now.list, err = a.folder(anchors.Hash, short(h)); err != nil {
		return nil, err
	}
	if now.files, err = v.Tree(open); err != nil {
		return nil, err
	}
	segments, err := v.Segments(open)
	if err != nil {
		return nil, err
	}
	for class, list := range segments {
		if len(list) == 0 {
			continue
		}
		data, err := v.Content(open, list[len(list)-1])
		if err != nil {
			return nil, err
		}
		now.tails[class] = lastFile{n: len(list), data: data}
	}
	now.last, err = v.LastID()
	return now, err
}

// step checks that a commit's tree only adds to the state before, which is nil for the first commit, and
// that what it adds can be read. In messages, where comes before paths.
func (a *audit) step(tree gitstore.Hash, before *state, where string) (*state, error) {
	now := &state{}
	if before != nil {
		*now = *before
		now.opened = nil
	}
	root, anchors, d, err := a.root(tree, where, now)
	if err != nil {
		return nil, err
	}
	if err := a.checkInfo(now, root, where); err != nil {
		return nil, err
	}
	where += layout.AnchorsDir
	switch {
	case anchors.IsZero():
		return nil, violation(folderOf(where), "there is no folder "+layout.AnchorsDir)
	case anchors == now.anchors:
		return now, nil
	case d.removed != "":
		return nil, violation(where+"/"+d.removed, "the commit removed a phase")
	}
	now.anchors, now.list = anchors, d.list
	return now, a.checkPhases(now, d, where)
}

// checkInfo checks tape.json, README.md and .gitattributes, which never change.
func (a *audit) checkInfo(now *state, root []gitstore.TreeEntry, where string) error {
	attributes, ok := layout.FindEntry(root, layout.AttributesFile)
	switch {
	case attributes.Hash == now.attributes:
	case ok && attributes.Hash != gitstore.HashObject(gitstore.KindBlob, []byte(layout.Attributes)):
		return foreign(where, attributes)
	case !now.info.IsZero():
		return violation(where+layout.AttributesFile, "the file was changed, or did not come with the tape's first commit")
	default:
		now.attributes = attributes.Hash
	}
	readme, ok := layout.FindEntry(root, layout.ReadmeFile)
	switch {
	case readme.Hash == now.readme:
	case !now.info.IsZero():
		return violation(where+layout.ReadmeFile, "the file was changed, or did not come with the tape's first commit")
	case ok:
		if _, err := a.file(readme.Hash, where+layout.ReadmeFile, smallFile); err != nil {
			return err
		}
		now.readme = readme.Hash
	}
	if e, ok := layout.FindEntry(root, layout.TapeFile); ok && e.Hash == now.info {
		return nil
	} else if ok && !now.info.IsZero() {
		return violation(where+layout.TapeFile, "the file was changed")
	} else if ok {
		now.info = e.Hash
	}
	info, err := a.info(root, where)
	now.name = info.Name
	return err
}

// checkPhases checks phases: only the open one may have grown, and new ones may follow it.
func (a *audit) checkPhases(now *state, d phaseDiff, where string) error {
	for i, e := range d.changed {
		if e.Name != now.folder {
			return a.closedChanged(d.was[i].Hash, e.Hash, where+"/"+e.Name)
		}
		if err := a.grow(now, e.Hash, where); err != nil {
			return err
		}
	}
	seq := func(e gitstore.TreeEntry) int {
		n, _, _ := layout.ParseFolder(e.Name)
		return n
	}
	slices.SortFunc(d.added, func(a, b gitstore.TreeEntry) int { return cmp.Compare(seq(a), seq(b)) })
	for _, e := range d.added {
		if seq(e) != now.phases+1 {
			return violation(where+"/"+e.Name, "the next phase has the number %03d", now.phases+1)
		}
		now.phases++
		now.folder, now.files, now.tails = e.Name, nil, [layout.ClassCount]lastFile{}
		now.opened = append(now.opened, now.folder)
		if err := a.grow(now, e.Hash, where); err != nil {
			return err
		}
	}
	if now.phases == 0 {
		return violation(where, "the tape has no phase")
	}
	return nil
}

// grow checks what was added to the open phase.
func (a *audit) grow(now *state, tree gitstore.Hash, where string) error {
	where += "/" + now.folder
	files, err := a.entries(tree, where, isPhaseFile)
	if err != nil {
		return err
	}
	for _, was := range now.files {
		is, ok := layout.FindEntry(files, was.Name)
		class, n, _ := layout.ParseSegment(was.Name)
		switch {
		case !ok:
			return violation(where+"/"+was.Name, "the commit removed the file")
		case isArtifactsDir(was):
		case is.Hash != was.Hash && (was.Name == layout.AnchorFile || n < now.tails[class].n):
			return a.fileChanged(was.Hash, is.Hash, where+"/"+was.Name, "the commit changed what was recorded before")
		}
	}
	g := growth{audit: a, now: now, where: where, was: now.files, files: files}
	if now.files == nil {
		if err := g.checkAnchor(); err != nil {
			return err
		}
	}
	count := 1
	for class := range layout.ClassCount {
		if err := g.checkClass(class); err != nil {
			return err
		}
		count += now.tails[class].n
	}
	if err := g.checkArtifacts(); err != nil {
		return err
	}
	if slices.ContainsFunc(files, isArtifactsDir) {
		count++
	}
	if count != len(files) {
		return violation(where, "there is a gap in the numbers of its files")
	}
	now.files = files
	a.shaped[tree] = true
	return g.checkNumbers()
}

// closedChanged returns an error that describes what a commit changed in a closed phase.
func (a *audit) closedChanged(old, next gitstore.Hash, where string) error {
	const msg = "the phase is closed, but the commit changed it"
	was, err1 := a.entries(old, where, isPhaseFile)
	is, err2 := a.entries(next, where, isPhaseFile)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for _, e := range is {
		if f, _ := layout.FindEntry(was, e.Name); f.Hash != e.Hash {
			return a.fileChanged(f.Hash, e.Hash, where+"/"+e.Name, msg)
		}
	}
	return violation(where, msg)
}

// fileChanged returns an error that names the first line in which a file differs.
func (a *audit) fileChanged(old, next gitstore.Hash, where, msg string) error {
	out := &layout.CorruptError{File: where, Msg: msg}
	was, err1 := a.file(old, where, a.largeFile())
	is, err2 := a.file(next, where, a.largeFile())
	if err1 == nil && err2 == nil {
		out.Line = layout.FirstDifference(is, was)
	}
	return out
}

// growth is what a commit adds to a phase.
type growth struct {
	*audit
	now        *state
	where      string
	was, files []gitstore.TreeEntry
	ids        []int64                  // of the new entries
	newest     [layout.ClassCount]int64 // the last of these ids, by class
	refs       []reference              // of the new entries
}

// checkAnchor checks the entry that opens a phase.
func (g *growth) checkAnchor() error {
	where := g.where + "/" + layout.AnchorFile
	e, ok := layout.FindEntry(g.files, layout.AnchorFile)
	if !ok {
		return violation(where, "the file is missing")
	}
	raw, err := g.file(e.Hash, where, int64(g.maxLine())+1)
	if err != nil {
		return err
	}
	entry, name, err := snapshot.DecodeAnchor(raw, where)
	if err != nil {
		return err
	}
	switch want := layout.FolderName(g.now.phases, name); {
	case want != g.now.folder:
		return violation(g.where, "the folder of the anchor %.200q must be %s", name, want)
	case entry.ID != g.now.last+1:
		return violation(where, "id %d follows id %d", entry.ID, g.now.last)
	}
	g.now.last = entry.ID
	return nil
}

// checkClass checks what was added to the files of a class, and collects the ids.
func (g *growth) checkClass(class layout.Class) error {
	tail := &g.now.tails[class]
	for n := max(tail.n, 1); ; n++ {
		name := layout.SegmentName(class, n)
		e, ok := layout.FindEntry(g.files, name)
		if !ok {
			return nil
		}
		if n > tail.n {
			if n > 1 && len(tail.data) < layout.SealSize {
				return violation(g.where+"/"+name, "the file before it has only %d bytes, so it was not full", len(tail.data))
			}
			*tail = lastFile{n: n}
		}
		if was, _ := layout.FindEntry(g.was, name); e.Hash != was.Hash {
			if err := g.checkFile(class, e.Hash, g.where+"/"+name); err != nil {
				return err
			}
		}
	}
}

// checkFile checks a file that is new or has grown.
func (g *growth) checkFile(class layout.Class, h gitstore.Hash, where string) error {
	data, err := g.file(h, where, g.largeFile())
	if err != nil {
		return err
	}
	old := g.now.tails[class].data
	if !bytes.HasPrefix(data, old) {
		return &layout.CorruptError{File: where, Line: layout.FirstDifference(data, old), Msg: "the commit changed what was recorded before"}
	}
	if isOverfull(data) {
		return violation(where, overfull, layout.SealSize)
	}
	g.now.tails[class].data = data
	return g.checkLines(class, data, len(old), where)
}

const overfull = "the file was written to after it was sealed at %d bytes"

// isOverfull reports whether a file has lines after the one that sealed it.
func isOverfull(data []byte) bool {
	return len(data)-len(snapshot.LastLine(data))-1 >= layout.SealSize
}

// checkLines checks the lines of a file, beginning at an offset.
func (g *growth) checkLines(class layout.Class, data []byte, from int, where string) error {
	at := func(offset int, msg string) error {
		return &layout.CorruptError{File: where, Line: bytes.Count(data[:offset], []byte("\n")) + 1, Msg: msg}
	}
	for from < len(data) {
		end := bytes.IndexByte(data[from:], '\n')
		if end < 0 {
			return at(from, "the line is cut off")
		}
		if limit := g.maxLine(); g.hostile && end > limit {
			return at(from, fmt.Sprintf("the line has %d bytes; the limit is %d", end, limit))
		}
		e, err := jsonl.Parse(data[from : from+end])
		if err != nil {
			return at(from, err.Error())
		}
		if layout.ClassOf(e.Kind) != class || e.Kind == layout.KindAnchor {
			return at(from, fmt.Sprintf("an entry of kind %.60q does not belong in this file", e.Kind))
		}
		if was := g.newest[class]; e.ID < was {
			return at(from, fmt.Sprintf("id %d comes after id %d", e.ID, was))
		}
		if g.repaired != nil && repair.IsEvent(e.Kind, e.Payload) {
			g.repaired(where, e.ID)
		}
		g.newest[class], g.ids = e.ID, append(g.ids, e.ID)
		g.refs = append(g.refs, referencesOf(e.ID, e.Kind, e.Payload, e.Meta)...)
		from += end + 1
	}
	return nil
}

// checkNumbers checks that the new ids continue without gaps or repeats, across the classes.
func (g *growth) checkNumbers() error {
	slices.Sort(g.ids)
	for _, id := range g.ids {
		if id != g.now.last+1 {
			return violation(g.where, "after id %d, the next is missing or repeated", g.now.last)
		}
		g.now.last = id
	}
	return nil
}
