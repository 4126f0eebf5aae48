package rewrite

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
)

type maskedBlob struct {
	hash    gitstore.Hash
	Changed bool
	full    [2]bool // before and after masking: the file has the size at which it is sealed
	over    [2]bool // before and after masking: it has that size without its last line
}

// maskedFile is a recently masked file. The next version of it begins with the same lines.
type maskedFile struct {
	path    string
	was, is []byte
}

func (r *Rewriter) root(ctx context.Context, h gitstore.Hash) (gitstore.Hash, error) {
	return r.folder(ctx, h, func(ctx context.Context, e *gitstore.TreeEntry) error {
		switch {
		case e.Name == layout.AnchorsDir && e.IsDir():
			var err error
			e.Hash, err = r.folder(ctx, e.Hash, r.inAnchors)
			return err
		case e.Name == layout.TapeFile:
			return r.tapeFile(e)
		case e.Name == layout.ReadmeFile && !e.IsDir():
			return r.readme(ctx, e)
		}
		return r.foreign(ctx, e)
	})
}

// readme masks README.md. If all text of the request that it shows is taken out, only the usual text stays.
func (r *Rewriter) readme(ctx context.Context, e *gitstore.TreeEntry) error {
	_, _, err := r.file(e, func(data []byte) ([]byte, error) {
		shows := func(of layout.Entry) bool { return about.ShowsRequest(data, of, r.mask.find) }
		if !r.mask.Learning && slices.ContainsFunc(r.mask.requests, shows) {
			return []byte(layout.Readme), nil
		}
		return data, nil
	})
	if err != nil {
		return err
	}
	return r.foreign(ctx, e)
}

func (r *Rewriter) folder(ctx context.Context, h gitstore.Hash, rewrite func(ctx context.Context, e *gitstore.TreeEntry) error) (gitstore.Hash, error) {
	if next, ok := r.trees[h]; ok {
		return next, nil
	}
	entries, err := r.s.Git().Tree(h)
	if err != nil {
		return h, layout.CorruptObject(h, err)
	}
	was := slices.Clone(entries)
	for i := range entries {
		if err := rewrite(ctx, &entries[i]); err != nil {
			return h, err
		}
	}
	restoreTaken(was, entries)
	next := h
	if !slices.Equal(was, entries) {
		next = r.put(gitstore.KindTree, gitstore.EncodeTree(entries))
	}
	r.trees[h] = next
	return next, nil
}

// restoreTaken restores the names of files whose masked names would collide with others.
func restoreTaken(was, entries []gitstore.TreeEntry) {
	for i := range entries {
		same := func(e gitstore.TreeEntry) bool { return e.Name == entries[i].Name }
		if entries[i].Name != was[i].Name && slices.ContainsFunc(slices.Delete(slices.Clone(entries), i, i+1), same) {
			entries[i].Name = was[i].Name
		}
	}
}

func (r *Rewriter) inAnchors(ctx context.Context, e *gitstore.TreeEntry) error {
	if _, _, ok := layout.ParseFolder(e.Name); !ok || !e.IsDir() {
		return r.foreign(ctx, e)
	}
	p, err := r.phase(ctx, PhaseTree{e.Name, e.Hash})
	e.Name, e.Hash = p.Folder, p.Tree
	return err
}

// foreign masks a file or folder that is not part of a tape, and its name.
func (r *Rewriter) foreign(ctx context.Context, e *gitstore.TreeEntry) (err error) {
	const gitlink = 0o160000
	e.Name = r.mask.name(e.Name)
	switch {
	case e.IsDir():
		e.Hash, err = r.folder(ctx, e.Hash, r.foreign)
		return err
	case e.Mode == gitlink:
		return nil
	}
	_, _, err = r.file(e, func(data []byte) ([]byte, error) { return []byte(r.mask.Text(string(data))), nil })
	return err
}

// tapeFile masks tape.json. The tape's name is in the branch, too, and stays.
func (r *Rewriter) tapeFile(e *gitstore.TreeEntry) error {
	_, _, err := r.file(e, func(data []byte) ([]byte, error) {
		if jsonl.Valid(data) != nil {
			return []byte(r.mask.Text(string(data))), nil
		}
		return replaceStrings(data, r.mask.value(data), func(was, is jsonString) string {
			if was.path == "name" && !was.key {
				return was.raw
			}
			return is.raw
		}), nil
	})
	return err
}

// file replaces a file with its masked content.
func (r *Rewriter) file(e *gitstore.TreeEntry, mask func(data []byte) ([]byte, error)) (was, is []byte, err error) {
	if was, err = r.s.Git().Blob(e.Hash); err != nil {
		return nil, nil, layout.CorruptObject(e.Hash, err)
	}
	if is, err = mask(was); err == nil && !bytes.Equal(was, is) {
		e.Hash = r.put(gitstore.KindBlob, is)
	}
	return was, is, err
}

// phase rewrites the folder of a phase. Its lines are masked, then divided into files as if they had
// been written that way.
func (r *Rewriter) phase(ctx context.Context, p PhaseTree) (PhaseTree, error) {
	if next, ok := r.Phases[p]; ok {
		return next, nil
	}
	entries, err := r.s.Git().Tree(p.Tree)
	if err != nil {
		return p, layout.CorruptObject(p.Tree, err)
	}
	next := p
	var was, out []gitstore.TreeEntry
	var files [layout.ClassCount][]layout.Segment
	for _, e := range entries {
		c, n, ok := layout.ParseSegment(e.Name)
		switch {
		case ok && e.Mode == gitstore.ModeFile:
			files[c] = append(files[c], layout.Segment{Class: c, N: n, Hash: e.Hash})
			continue
		case e.Name == layout.AnchorFile && e.Mode == gitstore.ModeFile:
			was = append(was, e)
			next.Folder, err = r.anchorFile(ctx, p.Folder, &e)
		case e.Name == layout.ArtifactsDir && e.IsDir():
			was = append(was, e)
			err = r.artifacts(ctx, &e)
		default:
			was = append(was, e)
			err = r.foreign(ctx, &e)
		}
		if err != nil {
			return p, err
		}
		out = append(out, e)
	}
	restoreTaken(was, out)
	for c := range files {
		list, err := r.class(ctx, p.Folder, files[c])
		if err != nil {
			return p, err
		}
		out = append(out, list...)
	}
	if raw := gitstore.EncodeTree(out); gitstore.HashObject(gitstore.KindTree, raw) != p.Tree {
		next.Tree = r.put(gitstore.KindTree, raw)
	}
	r.Phases[p] = next
	return next, nil
}

// anchorFile masks the anchor of a phase, and returns the folder, which follows the anchor's name.
func (r *Rewriter) anchorFile(ctx context.Context, folder string, e *gitstore.TreeEntry) (string, error) {
	was, is, err := r.file(e, func(data []byte) ([]byte, error) { return r.lines(ctx, data) })
	if err != nil || bytes.Equal(was, is) {
		return folder, err
	}
	_, oldName, err1 := snapshot.DecodeAnchor(was, folder)
	_, newName, err2 := snapshot.DecodeAnchor(is, folder)
	if err := cmp.Or(err1, err2); err != nil {
		return folder, nil //nolint:nilerr // damaged, so its name is unknown
	}
	seq, _, _ := layout.ParseFolder(folder)
	if oldName == newName || folder != layout.FolderName(seq, oldName) {
		return folder, nil
	}
	r.names[oldName], r.Folders[folder] = newName, layout.FolderName(seq, newName)
	return r.Folders[folder], nil
}

// class masks the files of one class. While full files stay full, the division into files stays.
// Otherwise lines move up into earlier files, until a file ends where it did before.
func (r *Rewriter) class(ctx context.Context, folder string, files []layout.Segment) (out []gitstore.TreeEntry, err error) {
	slices.SortFunc(files, func(a, b layout.Segment) int { return cmp.Compare(a.N, b.N) })
	emit := func(n int, h gitstore.Hash) {
		out = append(out, gitstore.TreeEntry{Name: layout.SegmentName(files[0].Class, n), Mode: gitstore.ModeFile, Hash: h})
	}
	var rest []byte // lines not yet in a file
	shift := 0
	for i, file := range files {
		path, last := folder+"/"+file.Name(), i == len(files)-1
		b, err := r.blob(ctx, path, file.Hash)
		if err != nil {
			return nil, err
		}
		n := file.N + shift
		if rest == nil && b.endsWell(last) {
			emit(n, b.hash)
			continue
		}
		_, data, err := r.masked(ctx, path, file.Hash)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(data) {
			if len(rest) >= layout.SealSize {
				emit(n, r.put(gitstore.KindBlob, rest))
				rest, n = nil, n+1
			}
			rest = append(rest, line...)
		}
		switch {
		case last && len(rest) > 0 || len(rest) >= layout.SealSize:
			emit(n, r.put(gitstore.KindBlob, rest))
			rest = nil
		case len(rest) > 0:
			n-- // the next file's lines go into this one
		}
		shift = n - file.N
	}
	return out, nil
}

// endsWell reports whether a masked file ends where it would if its lines had been written masked.
func (b maskedBlob) endsWell(last bool) bool {
	if !b.Changed || b.over[0] {
		return true
	}
	return !b.over[1] && (last || b.full[1] || !b.full[0])
}

func (r *Rewriter) blob(ctx context.Context, path string, h gitstore.Hash) (maskedBlob, error) {
	if b, ok := r.Blobs[h]; ok {
		return b, nil
	}
	was, is, err := r.masked(ctx, path, h)
	if err != nil {
		return maskedBlob{}, err
	}
	b := maskedBlob{hash: h, Changed: !bytes.Equal(was, is)}
	if b.Changed {
		for i, data := range [][]byte{was, is} {
			last := snapshot.LastLine(data)
			b.full[i], b.over[i] = len(data) >= layout.SealSize, len(data)-len(last)-1 >= layout.SealSize
		}
		b.hash = r.put(gitstore.KindBlob, bytes.Clone(is))
	}
	r.Blobs[h] = b
	return b, nil
}

// masked reads a file and masks it. If an earlier version was masked recently, it masks only the new lines.
func (r *Rewriter) masked(ctx context.Context, path string, h gitstore.Hash) (was, is []byte, err error) {
	if was, err = r.s.Git().Blob(h); err != nil {
		return nil, nil, layout.CorruptObject(h, err)
	}
	slot := slices.IndexFunc(r.recent[:], func(f maskedFile) bool {
		return f.path == path && bytes.HasSuffix(f.was, []byte("\n")) && bytes.HasPrefix(was, f.was)
	})
	var before maskedFile
	if slot >= 0 {
		before = r.recent[slot]
	} else {
		slot, r.next = r.next, (r.next+1)%len(r.recent)
	}
	more, err := r.lines(ctx, was[len(before.was):])
	if err != nil {
		return nil, nil, err
	}
	is = slices.Concat(before.is, more)
	r.recent[slot] = maskedFile{path, was, is}
	return was, is, nil
}

// lines masks lines. The commit that a summary names follows the rewritten commit.
func (r *Rewriter) lines(ctx context.Context, data []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []byte
	for line := range bytes.Lines(data) {
		text := bytes.TrimSuffix(line, []byte("\n"))
		masked, err := r.mask.Line(text)
		if err != nil {
			return nil, err
		}
		out = append(out, r.references(r.summary(masked))...)
		out = append(out, line[len(text):]...)
	}
	return out, nil
}

// summary updates the commit that the summary of a merge names.
func (r *Rewriter) summary(line []byte) []byte {
	h, ok := summarizedCommit(line)
	next := r.To(h)
	if !ok || next == h {
		return line
	}
	i := bytes.LastIndex(line, []byte(h.String())) // meta comes after the payload
	if i < 0 {
		return line
	}
	return slices.Concat(line[:i], []byte(next.String()), line[i+len(h.String()):])
}

// summarizedCommit returns the commit that an entry summarizes; false if the entry is not a summary.
func summarizedCommit(line []byte) (gitstore.Hash, bool) {
	if !bytes.Contains(line, []byte(`"commit"`)) {
		return gitstore.ZeroHash, false
	}
	e, err := jsonl.Parse(line)
	if err != nil {
		return gitstore.ZeroHash, false
	}
	h, err := gitstore.ParseHash(jsonl.GetString(e.Meta, "origin", "commit"))
	return h, err == nil
}
