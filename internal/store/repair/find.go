package repair

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Damage is the damage in a tape's working tree.
type Damage struct {
	Tape  string
	Files []File
	Lost  []Lost
	// Changed are names of files in which an uncommitted line differs from what was recorded. Which line
	// is unknown, so all stay, and the repair adds an event repair.changed.
	Changed []string

	mismatch bool // the journal record does not match the files
	sealed   []sealedFile
}

// File is a file that the repair changes.
type File struct {
	Path    string
	Missing bool // the file is in git or was recorded, but not on disk

	data []byte // the new content; nil to remove the file
}

// Lost is an acknowledged entry that is neither in the files nor in git.
type Lost struct {
	ID   int64
	File string // the file of its damaged line, "" if the line is gone
	Line int    // of the damaged line, from 1
	Raw  []byte // the damaged line
}

type sealedFile struct {
	folder, name string
	data         []byte
}

func (d *Damage) empty() bool {
	return len(d.Files) == 0 && len(d.Lost) == 0 && len(d.Changed) == 0 && !d.mismatch
}

// Find looks for damage without a lock, and changes nothing. It returns nil if there is no damage, if git is
// merging in the working tree, or if a change is under way or was interrupted. ErrConflict if the uncommitted
// entries are in another folder, or git has stashed them.
func Find(ctx context.Context, t *workspace.Tape) (*Damage, error) {
	rec, err := journal.PeekOf(t)
	if err != nil {
		return nil, err
	}
	head, err := t.Head()
	if err != nil {
		return nil, err
	}
	d, err := findUnlocked(ctx, t, head, rec)
	after, recErr := journal.PeekOf(t)
	if again, headErr := t.Head(); recErr != nil || headErr != nil || again != head || journal.Changed(rec, after) {
		return nil, errors.Join(recErr, headErr)
	}
	return d, err
}

func findUnlocked(ctx context.Context, t *workspace.Tape, head gitstore.Hash, rec journal.Record) (*Damage, error) {
	wt, _, err := t.Worktree()
	if errors.Is(err, gitstore.ErrNotFound) {
		err = nil
	}
	if err != nil || t.Merging(wt) {
		return nil, err
	}
	if err := journal.CheckHome(t, rec, head, wt.Dir); errors.Is(err, layout.ErrConflict) {
		return nil, err // its uncommitted entries are in another folder
	}
	if !journal.Decide(rec.Found(head)).EndKnown {
		return nil, nil // a change is under way, or must be undone first
	}
	if journal.CheckingOut(rec, head) {
		wt.Dir = "" // the next writer writes the working tree from the commit
	}
	d, err := find(ctx, t, wt.Dir, head, rec)
	if err != nil || d.empty() {
		return nil, err
	}
	return d, nil
}

// scan checks the files of one tape.
type scan struct {
	*Damage
	t         *workspace.Tape
	dir       string // "": there is no working tree
	committed *snapshot.Snapshot
	rec       journal.Record
	fits      bool // the record is about this commit, so what it says about files counts
}

func find(ctx context.Context, t *workspace.Tape, dir string, head gitstore.Hash, rec journal.Record) (*Damage, error) {
	committed, err := snapshot.AtCommit(t.Store(), head)
	if err != nil {
		return nil, err
	}
	s := &scan{Damage: &Damage{Tape: t.Name()}, t: t, dir: dir, committed: committed, rec: rec}
	if paths := strange(dir); len(paths) > 0 { // the repair moves these away, then looks again
		for _, path := range paths {
			s.Files = append(s.Files, File{Path: path})
		}
		return s.Damage, nil
	}
	open := committed.LastPhase()
	s.fits = rec.Head == head.String() && rec.Seq == open.Seq && rec.Folder == open.Folder
	if rec.Head != head.String() && rec.LastID > 0 {
		if has, err := lineage.Descends(t.Store(), head, rec.Head); err != nil || !has {
			s.rec = journal.Record{} // the record is about another history
		}
	}
	if dir != "" {
		if err := s.committedFiles(ctx); err != nil {
			return nil, err
		}
		if list, err := snapshot.ListPhases(dir); err == nil && len(list) > 0 && list[len(list)-1].Seq > open.Seq {
			return s.Damage, nil // phases made by hand, which recovery reads
		}
	}
	err = s.openPhase()
	if err == nil && len(s.Lost) > 0 && snapshot.Stashed(t.Store().Git(), head) {
		err = layout.Conflict("restore them with: git -C "+layout.ShellWord(dir)+" stash pop", "git has stashed entries that are not committed")
	}
	return s.Damage, err
}

// committedFiles compares the files that can no longer change with git.
func (s *scan) committedFiles(ctx context.Context) error {
	for _, name := range layout.RootFiles() {
		if e, ok := layout.FindEntry(s.committed.Root, name); ok {
			if err := s.compare(filepath.Join(s.dir, name), e.Hash, name != layout.TapeFile); err != nil {
				return err
			}
		}
	}
	for _, p := range s.committed.List {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := s.committed.Tree(p)
		if err != nil {
			return err
		}
		open := p.Seq == len(s.committed.List)
		for _, e := range entries {
			if e.IsDir() || open && e.Name != layout.AnchorFile {
				continue
			}
			if err := s.compare(s.path(p, e.Name), e.Hash, !open); err != nil {
				return err
			}
		}
		artifacts, err := s.committed.CommittedArtifacts(p)
		if err != nil {
			return err
		}
		for _, e := range artifacts {
			if err := s.compare(s.path(p, filepath.Join(layout.ArtifactsDir, e.Name)), e.Hash, true); err != nil {
				return err
			}
		}
		if !open {
			s.extraFiles(p, entries)
		}
	}
	return nil
}

// extraFiles finds files of entries in a closed phase that are not in git.
func (s *scan) extraFiles(p layout.Phase, entries []gitstore.TreeEntry) {
	found, _ := snapshot.FilesIn(s.path(p, ""))
	for _, f := range found {
		if _, ok := layout.FindEntry(entries, f.Name()); !ok {
			s.Files = append(s.Files, File{Path: s.path(p, f.Name())})
		}
	}
}

func (s *scan) path(p layout.Phase, file string) string {
	return filepath.Join(s.dir, layout.AnchorsDir, p.Folder, file)
}

// compare checks that a file is as it is in git. If not, the repair restores it. With sparse, a fork's working
// tree need not have the file.
func (s *scan) compare(path string, h gitstore.Hash, sparse bool) error {
	data, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err == nil && gitstore.HashObject(gitstore.KindBlob, data) == h || missing && sparse && s.t.IsFork() {
		return nil
	}
	blob, err := s.committed.Git.Blob(h)
	if err != nil {
		return layout.CorruptObject(s.committed.Commit, err)
	}
	s.Files = append(s.Files, File{Path: path, Missing: missing, data: slices.Concat([]byte{}, blob)})
	return nil
}
