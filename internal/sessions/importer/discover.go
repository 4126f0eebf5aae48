package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Agents are the formats of programs that keep transcripts in a place that [Discover] knows.
var Agents = []string{ClaudeCode, Codex, Gemini}

// Discover finds the transcripts of an agent that were made in a project's directory, or below
// it. getenv gives HOME and what the agents look at besides.
func Discover(ctx context.Context, agent, project string, getenv func(string) string) ([]string, error) {
	p := place{dirs: []string{project}}
	if real, err := filepath.EvalSymlinks(project); err == nil && real != project {
		p.dirs = append(p.dirs, real)
	}
	var out []string
	for _, root := range Folders(agent, getenv) {
		var folder func(string) bool
		var directory func([]byte) []byte
		switch agent {
		case ClaudeCode:
			folder, directory = p.isClaude, func(raw []byte) []byte { return jsonl.Get(raw, "cwd") }
		case Codex:
			directory = func(raw []byte) []byte { return jsonl.Get(raw, "payload", "cwd") }
		}
		found, err := p.search(ctx, root, folder, directory)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Folders are those in which an agent keeps its transcripts. getenv is as for [Discover].
func Folders(agent string, getenv func(string) string) []string {
	home := getenv("HOME")
	switch agent {
	case ClaudeCode:
		return []string{filepath.Join(cmp.Or(getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude")), "projects")}
	case Codex:
		root := cmp.Or(getenv("CODEX_HOME"), filepath.Join(home, ".codex"))
		return []string{filepath.Join(root, "sessions"), filepath.Join(root, "archived_sessions")}
	case Gemini:
		return []string{filepath.Join(home, ".gemini", "tmp")}
	}
	return nil
}

// place is a directory of which transcripts are looked for, under each of its names.
type place struct{ dirs []string }

// search lists the transcripts below a folder whose first record with a directory names one of
// the place; folder says of the folders at the top which may have some, nil means all. Where
// directory is nil, a record has the hash of its project's.
func (p place) search(ctx context.Context, root string, folder func(name string) bool, directory func(raw []byte) []byte) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == root:
			return filepath.SkipAll
		case err != nil:
			return err
		case d.IsDir():
			if filepath.Dir(path) == root && folder != nil && !folder(d.Name()) {
				return filepath.SkipDir
			}
			return ctx.Err()
		case !d.Type().IsRegular() || !IsTranscript(path):
			return nil
		}
		ours, err := p.made(ctx, path, directory)
		if ours {
			out = append(out, path)
		}
		return err
	})
	return out, err
}

// made reports whether a transcript says that it was made in the place.
func (p place) made(ctx context.Context, path string, directory func(raw []byte) []byte) (ours bool, err error) {
	src, closer, err := OpenSource(path, nil)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	if directory == nil {
		head := make([]byte, 4<<10)
		n, err := src.R.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		return slices.ContainsFunc(p.dirs, func(dir string) bool {
			return strings.Contains(string(head[:n]), fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(dir))))
		}), nil
	}
	err = record.Look(ctx, src, func([]byte) bool { return true }, nil, func(at record.Span, raw []byte) bool {
		dir := directory(raw)
		if dir == nil {
			return at.Opens()
		}
		ours = p.has(record.Text(dir))
		return false
	})
	return ours, err
}

// has reports whether a directory is the place, or below it.
func (p place) has(dir string) bool {
	return slices.ContainsFunc(p.dirs, func(top string) bool {
		rest, ok := strings.CutPrefix(dir, strings.TrimSuffix(top, string(filepath.Separator)))
		return ok && (rest == "" || os.IsPathSeparator(rest[0]))
	})
}

// isClaude reports whether a folder of Claude Code's may have sessions of the place: it is
// named after a directory, with a dash for whatever is neither a letter of ASCII nor a digit.
func (p place) isClaude(name string) bool {
	return slices.ContainsFunc(p.dirs, func(dir string) bool {
		dashed := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return '-'
		}, dir)
		return strings.HasPrefix(name, dashed)
	})
}

// IsTranscript reports whether a file may be a transcript, by its name. What Claude Code notes
// about a subagent stands beside the subagent's transcript, and is none.
func IsTranscript(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".jsonl" || ext == ".json" && !strings.HasSuffix(path, ".meta.json")
}
