package repo

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// past is a commit that is in order, as far as the next one has to be compared with it.
type past struct {
	name    string        // of the tape, in tape.json
	info    gitstore.Hash // of tape.json
	anchors gitstore.Hash
	raw     []byte // the folder of phases, as a tree object
	phases  int
	last    int64 // the last entry

	// The open phase.
	folder string
	files  []gitstore.TreeEntry
	tails  [classCount]pastFile
}

// pastFile is the last file of a class.
type pastFile struct {
	n    int // 0: there is none
	data []byte
}

// load makes a past of a commit that is in order.
func (c *incomingCheck) load(h gitstore.Hash) (*past, error) {
	v, err := c.s.commitView(h)
	if err != nil {
		return nil, err
	}
	info, err := v.tapeInfo()
	if err != nil {
		return nil, err
	}
	file, _ := findEntry(v.root, tapeFile)
	anchors, _ := findEntry(v.root, anchorsDir)
	open := v.list[len(v.list)-1]
	p := &past{name: info.Name, info: file.Hash, anchors: anchors.Hash, phases: len(v.list), folder: open.folder}
	if p.raw, err = c.folder(anchors.Hash, h.String()[:12]); err != nil {
		return nil, err
	}
	if p.files, err = v.tree(open); err != nil {
		return nil, err
	}
	segments, err := v.segments(open)
	if err != nil {
		return nil, err
	}
	for class, list := range segments {
		if len(list) == 0 {
			continue
		}
		data, err := v.content(open, list[len(list)-1])
		if err != nil {
			return nil, err
		}
		p.tails[class] = pastFile{n: len(list), data: data}
	}
	p.last, err = v.lastID()
	return p, err
}

// step checks that a commit only adds to the one before, which is nil for the first, and
// that what it adds can be read.
func (c *incomingCheck) step(h gitstore.Hash, at gitstore.Commit, before *past) (*past, error) {
	where := h.String()[:12] + ":"
	if n, err := strconv.Atoi(at.Trailer(trailerFormat)); err == nil && n > FormatVersion {
		return nil, &CorruptError{File: "commit " + h.String()[:12], Msg: newerFormat(n), Fix: installNewer}
	}
	root, err := c.entries(at.Tree, where, isRootEntry)
	if err != nil {
		return nil, err
	}
	now := &past{}
	if before != nil {
		*now = *before
	}
	if err := c.stepInfo(now, root, where); err != nil {
		return nil, err
	}
	anchors, ok := findEntry(root, anchorsDir)
	if !ok {
		return nil, refused("", "%s there is no folder %s", where, anchorsDir)
	}
	if anchors.Hash == now.anchors {
		return now, nil
	}
	where += anchorsDir
	raw, err := c.folder(anchors.Hash, where)
	if err != nil {
		return nil, err
	}
	d, err := difference(now.raw, raw, where)
	if err != nil {
		return nil, err
	}
	if d.removed != nil {
		return nil, refused("", "%s/%s: the commit removed a phase", where, d.removed)
	}
	now.anchors, now.raw = anchors.Hash, raw
	return now, c.stepPhases(now, h, d, where)
}

// stepInfo checks tape.json, which never changes.
func (c *incomingCheck) stepInfo(now *past, root []gitstore.TreeEntry, where string) error {
	if e, ok := findEntry(root, tapeFile); ok && e.Hash == now.info {
		return nil
	} else if ok && !now.info.IsZero() {
		return refused("", "%s%s: the file was changed", where, tapeFile)
	} else if ok {
		now.info = e.Hash
	}
	info, err := c.info(root, where)
	now.name = info.Name
	return err
}

// stepPhases checks what a commit did to the phases: the open one may have grown, and
// others may follow it.
func (c *incomingCheck) stepPhases(now *past, h gitstore.Hash, d differing, where string) error {
	for _, e := range d.changed {
		if string(e.name) != now.folder {
			return refused("", "%s/%s: the phase is closed, but the commit changed it", where, e.name)
		}
		if err := c.grow(now, e.hash(), where); err != nil {
			return err
		}
	}
	seq := func(e rawEntry) int {
		n, _, _ := parseFolder(string(e.name))
		return n
	}
	slices.SortFunc(d.added, func(a, b rawEntry) int { return cmp.Compare(seq(a), seq(b)) })
	for _, e := range d.added {
		if seq(e) != now.phases+1 {
			return refused("", "%s/%s: the next phase has the number %03d", where, e.name, now.phases+1)
		}
		now.phases++
		now.folder, now.files, now.tails = string(e.name), nil, [classCount]pastFile{}
		c.opened[phaseAt{h, now.folder}] = true
		if err := c.grow(now, e.hash(), where); err != nil {
			return err
		}
	}
	if now.phases == 0 {
		return refused("", "%s: the tape has no phase", where)
	}
	return nil
}

// grow checks what the open phase has more than before.
func (c *incomingCheck) grow(now *past, tree gitstore.Hash, where string) error {
	where += "/" + now.folder
	files, err := c.entries(tree, where, isPhaseFile)
	if err != nil {
		return err
	}
	for _, was := range now.files {
		is, ok := findEntry(files, was.Name)
		of, n, _ := parseSegment(was.Name)
		switch {
		case !ok:
			return refused("", "%s/%s: the commit removed the file", where, was.Name)
		case is.Hash != was.Hash && (was.Name == anchorFile || n < now.tails[of].n):
			return refused("", "%s/%s: the commit changed what was recorded before", where, was.Name)
		}
	}
	g := growth{incomingCheck: c, now: now, where: where, was: now.files, files: files}
	if now.files == nil {
		if err := g.anchor(); err != nil {
			return err
		}
	}
	count := 1
	for of := range classCount {
		if err := g.class(of); err != nil {
			return err
		}
		count += now.tails[of].n
	}
	if count != len(files) {
		return refused("", "%s: there is a gap in the numbers of its files", where)
	}
	now.files = files
	c.shaped[tree] = true
	return g.numbers()
}

// growth is what a commit adds to a phase.
type growth struct {
	*incomingCheck
	now        *past
	where      string
	was, files []gitstore.TreeEntry
	ids        [classCount][]int64 // of the new entries
}

// anchor checks the entry that opens a phase.
func (g *growth) anchor() error {
	where := g.where + "/" + anchorFile
	e, ok := findEntry(g.files, anchorFile)
	if !ok {
		return refused("", "%s: the file is missing", where)
	}
	raw, err := g.file(e.Hash, where, int64(g.maxLine())+1)
	if err != nil {
		return err
	}
	line, ok := bytes.CutSuffix(raw, []byte("\n"))
	if !ok || bytes.IndexByte(line, '\n') >= 0 {
		return &CorruptError{File: where, Msg: "not exactly one line"}
	}
	entry, err := jsonl.Parse(line)
	if err != nil {
		return &CorruptError{File: where, Line: 1, Msg: err.Error()}
	}
	name := jsonl.GetString(entry.Payload, "name")
	switch want := folderName(g.now.phases, name); {
	case entry.Kind != KindAnchor || name == "":
		return &CorruptError{File: where, Line: 1, Msg: "not an anchor with a name"}
	case want != g.now.folder:
		return refused("", "%s: the folder of the anchor %.200q must be %s", g.where, name, want)
	case entry.ID != g.now.last+1:
		return refused("", "%s: id %d follows id %d", where, entry.ID, g.now.last)
	}
	g.now.last = entry.ID
	return nil
}

// class checks what the files of a class have more than before, and puts down the ids.
func (g *growth) class(of class) error {
	tail := &g.now.tails[of]
	for {
		name := segmentName(of, max(tail.n, 1))
		e, ok := findEntry(g.files, name)
		was, had := findEntry(g.was, name)
		if tail.n > 0 && e.Hash != was.Hash || tail.n == 0 && ok {
			if err := g.read(of, e.Hash, name, had); err != nil {
				return err
			}
		}
		next := segmentName(of, tail.n+1)
		if _, more := findEntry(g.files, next); !more {
			return nil
		}
		if len(tail.data) < SealSize {
			return refused("", "%s/%s: the file before it has only %d bytes, so it was not full", g.where, next, len(tail.data))
		}
		*tail = pastFile{n: tail.n + 1}
	}
}

// read checks a file that is new, or has grown.
func (g *growth) read(of class, h gitstore.Hash, name string, had bool) error {
	where := g.where + "/" + name
	data, err := g.file(h, where, g.largeFile())
	if err != nil {
		return err
	}
	tail := &g.now.tails[of]
	old := tail.data
	if !had {
		old = nil
	}
	if !bytes.HasPrefix(data, old) {
		return refused("", "%s:%d: the commit changed what was recorded before", where, firstDifference(data, old))
	}
	if len(data)-len(lastLine(data))-1 >= SealSize {
		return refused("", "%s: the file was written to after it was sealed at %d bytes", where, SealSize)
	}
	tail.n, tail.data = max(tail.n, 1), data
	return g.lines(of, data, len(old), where)
}

// lines checks the lines of a file from an offset on.
func (g *growth) lines(of class, data []byte, from int, where string) error {
	at := func(offset int, msg string) error {
		return &CorruptError{File: where, Line: bytes.Count(data[:offset], []byte("\n")) + 1, Msg: msg}
	}
	for from < len(data) {
		end := bytes.IndexByte(data[from:], '\n')
		if end < 0 {
			return at(from, "the line is cut off")
		}
		if limit := g.maxLine(); end > limit {
			return at(from, fmt.Sprintf("the line has %d bytes; the limit is %d", end, limit))
		}
		e, err := jsonl.Parse(data[from : from+end])
		if err != nil {
			return at(from, err.Error())
		}
		if classOf(e.Kind) != of || e.Kind == KindAnchor {
			return at(from, fmt.Sprintf("an entry of kind %.60q does not belong in this file", e.Kind))
		}
		g.ids[of] = append(g.ids[of], e.ID)
		from += end + 1
	}
	return nil
}

// numbers checks that the ids of the new entries go on without gap or repeat, across the
// classes.
func (g *growth) numbers() error {
	ids := g.ids
	for {
		found, left := false, false
		for class := range ids {
			if len(ids[class]) == 0 {
				continue
			}
			left = true
			if ids[class][0] == g.now.last+1 {
				g.now.last++
				ids[class] = ids[class][1:]
				found = true
			}
		}
		if !left {
			return nil
		}
		if !found {
			return refused("", "%s: behind id %d, the next is missing, or there twice", g.where, g.now.last)
		}
	}
}
