package importer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Discover returns the paths of the transcripts in one format whose sessions ran in a project's directory or below it.
// If the format has a MadeIn, those below it are not found. getenv reads the environment that the agent would see. An error
// about databases that cannot be read comes with what else was found.
func Discover(ctx context.Context, f *record.Format, project string, getenv func(string) string) ([]string, error) {
	p := place{format: f, dirs: []string{project}}
	if real, err := filepath.EvalSymlinks(project); err == nil && real != project {
		p.dirs = append(p.dirs, real)
	}
	var out []string
	var unread error
	databases, _ := Databases(f, getenv) // import --all says why others are not read
	for _, kept := range databases {
		if kept.Dir != "" && !p.contains(kept.Dir) {
			continue
		}
		list, err := Sessions(ctx, f, kept.Path)
		if !errors.Is(err, ErrOtherProgram) {
			unread = errors.Join(unread, err)
		}
		for _, s := range list {
			if p.contains(cmp.Or(s.Dir, kept.Dir)) {
				out = append(out, s.Path)
			}
		}
	}
	for _, root := range Folders(f, getenv) {
		found, err := p.search(ctx, root)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, unread
}

// Folders returns the folders in which a program keeps its transcripts, without those that are inside others: a setting may
// name one of these. getenv is as for [Discover].
func Folders(f *record.Format, getenv func(string) string) []string {
	if f.Files.Folders == nil {
		return nil
	}
	var out []string
	all := f.Files.Folders(record.Where{Home: getenv("HOME"), Getenv: getenv})
	for i, folder := range all {
		inside := func(other string) bool { return strings.HasPrefix(folder, other+string(filepath.Separator)) }
		if !slices.Contains(all[:i], folder) && (f.Files.Holds != nil || !slices.ContainsFunc(all, inside)) {
			out = append(out, folder)
		}
	}
	return out
}

// place is the directory whose transcripts are wanted, under each of its names.
type place struct {
	format *record.Format
	dirs   []string
}

// search returns the transcripts of the place below a folder.
func (p place) search(ctx context.Context, root string) ([]string, error) {
	var out []string
	err := disk.Walk(root, func(path string, st fs.FileInfo, err error) error {
		switch {
		case err != nil:
			return err
		case st.IsDir():
			if filepath.Dir(path) == root && !p.mayBeIn(filepath.Base(path)) {
				return fs.SkipDir
			}
			return ctx.Err()
		case !st.Mode().IsRegular() || !(Formats{p.format}).IsTranscript(path):
			return nil
		}
		ours, err := p.madeHere(ctx, path)
		if ours {
			out = append(out, path)
		}
		return err
	})
	return out, err
}

// mayBeIn reports whether a folder may have transcripts of the place.
func (p place) mayBeIn(folder string) bool {
	return p.format.Files.Holds == nil || slices.ContainsFunc(p.dirs, func(dir string) bool { return p.format.Files.Holds(folder, dir) })
}

// madeHere reports whether a transcript's session ran in the place.
func (p place) madeHere(ctx context.Context, path string) (ours bool, err error) {
	src, closer, err := OpenSource(path, nil)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	if src.Size == 0 {
		return false, nil // it may be about to be written
	}
	if p.format.Files.MadeIn != nil {
		head := make([]byte, 4<<10)
		n, err := src.R.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		return slices.ContainsFunc(p.dirs, func(dir string) bool {
			return p.format.Files.MadeIn(head[:n], dir)
		}), nil
	}
	info, err := Describe(ctx, p.format, src)
	return p.contains(jsonl.GetString(info.State, "cwd")), err
}

// contains reports whether a directory is the place, or below it.
func (p place) contains(dir string) bool {
	return slices.ContainsFunc(p.dirs, func(top string) bool {
		rest, ok := strings.CutPrefix(dir, strings.TrimSuffix(top, string(filepath.Separator)))
		return ok && (rest == "" || os.IsPathSeparator(rest[0]))
	})
}
