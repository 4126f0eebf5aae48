package repo

import (
	"bytes"
	"slices"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// builder makes the tree of a commit with more entries behind its own, without a working
// tree. It divides them into files as a Tx does, so that both give the same tree.
type builder struct {
	rootTree gitstore.Hash // of the commit
	put      func(kind gitstore.Kind, data []byte) gitstore.Hash
	load     func(name string, h gitstore.Hash) ([]byte, error) // a file of the open phase
	added    int64                                              // entries

	root, anchors, phase []gitstore.TreeEntry
	seq                  int
	folder, anchor       string
	open                 [classCount]*lastFile
	opened               []string // folders of phases that were added
}

// lastFile is the last file of a class, held in memory until it is sealed.
type lastFile struct {
	n       int
	data    []byte
	written int // bytes of data that are stored already
}

func newBuilder(v *snapshot, put func(gitstore.Kind, []byte) gitstore.Hash) (*builder, error) {
	last := v.list[len(v.list)-1]
	load := func(_ string, h gitstore.Hash) ([]byte, error) {
		data, err := v.git.Blob(h)
		if err != nil {
			return nil, corruptObject(v.commit, err)
		}
		return bytes.Clone(data), nil
	}
	b := &builder{rootTree: v.rootTree, put: put, load: load, root: slices.Clone(v.root), seq: last.seq, folder: last.folder}
	for _, p := range v.list {
		b.anchors = append(b.anchors, gitstore.TreeEntry{Name: p.folder, Mode: gitstore.ModeDir, Hash: p.tree})
	}
	entries, err := v.tree(last)
	if err != nil {
		return nil, err
	}
	b.phase = slices.Clone(entries)
	anchor, err := readAnchor(v, last, "")
	b.anchor = anchor.Anchor
	return b, err
}

// addLine puts an entry's line, without its newline, behind what is there. An anchor opens
// a phase.
func (b *builder) addLine(line []byte) error {
	e, err := jsonl.Parse(line)
	if err != nil {
		return err
	}
	b.added++
	if e.Kind == KindAnchor {
		b.openPhase(jsonl.GetString(e.Payload, "name"), line)
		return nil
	}
	file, err := b.tail(classOf(e.Kind))
	if err != nil {
		return err
	}
	file.data = append(append(file.data, line...), '\n')
	return nil
}

// tail returns the file that the next entry of a class goes to.
func (b *builder) tail(c class) (*lastFile, error) {
	file := b.open[c]
	if file == nil {
		file = &lastFile{n: 1}
		for _, e := range b.phase {
			if class, n, ok := parseSegment(e.Name); ok && class == c {
				file.n = max(file.n, n)
			}
		}
		if e, ok := findEntry(b.phase, segmentName(c, file.n)); ok {
			var err error
			if file.data, err = b.load(e.Name, e.Hash); err != nil {
				return nil, err
			}
			file.written = len(file.data)
		}
		b.open[c] = file
	}
	if len(file.data) >= SealSize {
		b.flush(c)
		file = &lastFile{n: file.n + 1}
		b.open[c] = file
	}
	return file, nil
}

// flush stores what a class's open file has beyond the commit.
func (b *builder) flush(c class) {
	file := b.open[c]
	if file == nil || file.written == len(file.data) {
		return
	}
	file.written = len(file.data)
	setEntry(&b.phase, gitstore.TreeEntry{Name: segmentName(c, file.n), Mode: gitstore.ModeFile,
		Hash: b.put(gitstore.KindBlob, bytes.Clone(file.data))})
}

// closePhase stores the open phase.
func (b *builder) closePhase() {
	for c := range b.open {
		b.flush(class(c))
	}
	setEntry(&b.anchors, gitstore.TreeEntry{Name: b.folder, Mode: gitstore.ModeDir,
		Hash: b.put(gitstore.KindTree, gitstore.EncodeTree(b.phase))})
}

func (b *builder) openPhase(name string, line []byte) {
	b.closePhase()
	b.seq++
	b.folder, b.anchor = folderName(b.seq, name), name
	b.open = [classCount]*lastFile{}
	b.phase = []gitstore.TreeEntry{{Name: anchorFile, Mode: gitstore.ModeFile,
		Hash: b.put(gitstore.KindBlob, append(bytes.Clone(line), '\n'))}}
	b.opened = append(b.opened, b.folder)
}

// tree stores what is not stored yet, and returns the root.
func (b *builder) tree() gitstore.Hash {
	if b.added == 0 {
		return b.rootTree
	}
	b.closePhase()
	setEntry(&b.root, gitstore.TreeEntry{Name: anchorsDir, Mode: gitstore.ModeDir,
		Hash: b.put(gitstore.KindTree, gitstore.EncodeTree(b.anchors))})
	return b.put(gitstore.KindTree, gitstore.EncodeTree(b.root))
}

// lastID is the last entry of what was built, given that of the commit it began with.
func (b *builder) lastID(before int64) int64 { return before + b.added }

// setEntry puts an entry into a tree, in the place of the one of its name.
func setEntry(entries *[]gitstore.TreeEntry, e gitstore.TreeEntry) {
	for i := range *entries {
		if (*entries)[i].Name == e.Name {
			(*entries)[i] = e
			return
		}
	}
	*entries = append(*entries, e)
}
