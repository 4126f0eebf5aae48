package resolve

import (
	"bytes"
	"slices"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
	"tape/internal/layout"
	"tape/internal/snapshot"
)

// Builder makes the tree of a commit with more entries behind its own, without a working
// tree. It divides them into files as a Tx does, so that both give the same tree.
type Builder struct {
	RootTree gitstore.Hash // of the commit
	Put      func(kind gitstore.Kind, data []byte) gitstore.Hash
	Load     func(name string, h gitstore.Hash) ([]byte, error) // a file of the open phase
	Added    int64                                              // entries

	Root, Anchors, Phase []gitstore.TreeEntry
	Seq                  int
	Folder, Anchor       string
	open                 [layout.ClassCount]*LastFile
	opened               []string // folders of phases that were added
}

// LastFile is the last file of a class, held in memory until it is sealed.
type LastFile struct {
	N       int
	Data    []byte
	Written int // bytes of data that are stored already
}

// NewBuilder builds on a commit; put stores an object, or only hashes it.
func NewBuilder(v *snapshot.Snapshot, put func(gitstore.Kind, []byte) gitstore.Hash) (*Builder, error) {
	last := v.List[len(v.List)-1]
	load := func(_ string, h gitstore.Hash) ([]byte, error) {
		data, err := v.Git.Blob(h)
		if err != nil {
			return nil, layout.CorruptObject(v.Commit, err)
		}
		return bytes.Clone(data), nil
	}
	b := &Builder{RootTree: v.RootTree, Put: put, Load: load, Root: slices.Clone(v.Root), Seq: last.Seq, Folder: last.Folder}
	for _, p := range v.List {
		b.Anchors = append(b.Anchors, gitstore.TreeEntry{Name: p.Folder, Mode: gitstore.ModeDir, Hash: p.Tree})
	}
	entries, err := v.Tree(last)
	if err != nil {
		return nil, err
	}
	b.Phase = slices.Clone(entries)
	anchor, err := snapshot.ReadAnchor(v, last, "")
	b.Anchor = anchor.Anchor
	return b, err
}

// AddLine puts an entry's line, without its newline, behind what is there. An anchor opens
// a phase.
func (b *Builder) AddLine(line []byte) error {
	e, err := jsonl.Parse(line)
	if err != nil {
		return err
	}
	b.Added++
	if e.Kind == layout.KindAnchor {
		b.openPhase(jsonl.GetString(e.Payload, "name"), line)
		return nil
	}
	file, err := b.tail(layout.ClassOf(e.Kind))
	if err != nil {
		return err
	}
	file.Data = append(append(file.Data, line...), '\n')
	return nil
}

// tail returns the file that the next entry of a class goes to.
func (b *Builder) tail(c layout.Class) (*LastFile, error) {
	file := b.open[c]
	if file == nil {
		file = &LastFile{N: 1}
		for _, e := range b.Phase {
			if class, n, ok := layout.ParseSegment(e.Name); ok && class == c {
				file.N = max(file.N, n)
			}
		}
		if e, ok := layout.FindEntry(b.Phase, layout.SegmentName(c, file.N)); ok {
			var err error
			if file.Data, err = b.Load(e.Name, e.Hash); err != nil {
				return nil, err
			}
			file.Written = len(file.Data)
		}
		b.open[c] = file
	}
	if len(file.Data) >= layout.SealSize {
		b.flush(c)
		file = &LastFile{N: file.N + 1}
		b.open[c] = file
	}
	return file, nil
}

// flush stores what a class's open file has beyond the commit.
func (b *Builder) flush(c layout.Class) {
	file := b.open[c]
	if file == nil || file.Written == len(file.Data) {
		return
	}
	file.Written = len(file.Data)
	layout.SetEntry(&b.Phase, gitstore.TreeEntry{Name: layout.SegmentName(c, file.N), Mode: gitstore.ModeFile,
		Hash: b.Put(gitstore.KindBlob, bytes.Clone(file.Data))})
}

// closePhase stores the open phase.
func (b *Builder) closePhase() {
	for c := range b.open {
		b.flush(layout.Class(c))
	}
	layout.SetEntry(&b.Anchors, gitstore.TreeEntry{Name: b.Folder, Mode: gitstore.ModeDir,
		Hash: b.Put(gitstore.KindTree, gitstore.EncodeTree(b.Phase))})
}

func (b *Builder) openPhase(name string, line []byte) {
	b.closePhase()
	b.Seq++
	b.Folder, b.Anchor = layout.FolderName(b.Seq, name), name
	b.open = [layout.ClassCount]*LastFile{}
	b.Phase = []gitstore.TreeEntry{{Name: layout.AnchorFile, Mode: gitstore.ModeFile,
		Hash: b.Put(gitstore.KindBlob, append(bytes.Clone(line), '\n'))}}
	b.opened = append(b.opened, b.Folder)
}

// Tree stores what is not stored yet, and returns the root.
func (b *Builder) Tree() gitstore.Hash {
	if b.Added == 0 {
		return b.RootTree
	}
	b.closePhase()
	layout.SetEntry(&b.Root, gitstore.TreeEntry{Name: layout.AnchorsDir, Mode: gitstore.ModeDir,
		Hash: b.Put(gitstore.KindTree, gitstore.EncodeTree(b.Anchors))})
	return b.Put(gitstore.KindTree, gitstore.EncodeTree(b.Root))
}
