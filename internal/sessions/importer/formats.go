package importer

import (
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/sessions/importer/acp"
	"tape/internal/sessions/importer/aider"
	"tape/internal/sessions/importer/amp"
	"tape/internal/sessions/importer/antigravity"
	"tape/internal/sessions/importer/bub"
	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/cline"
	"tape/internal/sessions/importer/codex"
	"tape/internal/sessions/importer/copilot"
	"tape/internal/sessions/importer/crush"
	"tape/internal/sessions/importer/cursor"
	"tape/internal/sessions/importer/droid"
	"tape/internal/sessions/importer/gemini"
	"tape/internal/sessions/importer/goose"
	"tape/internal/sessions/importer/hermes"
	"tape/internal/sessions/importer/hosted"
	"tape/internal/sessions/importer/kimi"
	"tape/internal/sessions/importer/kiro"
	"tape/internal/sessions/importer/openai"
	"tape/internal/sessions/importer/opencode"
	"tape/internal/sessions/importer/openhands"
	"tape/internal/sessions/importer/pi"
	"tape/internal/sessions/importer/qwen"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/importer/zed"
)

// Formats is a list of formats. The nil list stands for [All].
type Formats []*record.Format

// All returns the formats that tape can read. To add one, write its package and add a line here. If a record is equally
// like several formats, the last of them is used.
func All() Formats {
	return Formats{
		&acp.Format,
		&aider.Format,
		&amp.Format,
		&antigravity.Format,
		&bub.Format,
		&hosted.ChatGPT,
		&hosted.ClaudeAI,
		&claudecode.Format,
		&claudecode.Stream,
		&cline.Format,
		&cline.Tasks,
		&codex.Format,
		&codex.Exec,
		&copilot.Format,
		&crush.Format,
		&cursor.Format,
		&cursor.CLI,
		&gemini.Format,
		&gemini.Stream,
		&acp.Grok,
		&hermes.Format,
		&kimi.Format,
		&kiro.Chat,
		&kiro.Format,
		&goose.Format,
		&openai.Format,
		&opencode.Format,
		&opencode.Kilo,
		&opencode.MiMoCode,
		&openhands.Format,
		&pi.Format,
		&droid.Format, // after pi, whose records may have all members of Droid's
		&copilot.VSCode,
		&zed.Format,
		&qwen.Format, // last, because its records have all members of Claude Code's
	}
}

func (l Formats) orAll() Formats {
	if l == nil {
		return All()
	}
	return l
}

// Find returns the format with a name, or nil.
func (l Formats) Find(name string) *record.Format {
	for _, f := range l.orAll() {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Title returns what people call the program that writes a format. An unknown name is returned unchanged.
func (l Formats) Title(name string) string {
	if f := l.Find(name); f != nil {
		return f.Title
	}
	return name
}

// Resumes reports whether a session of a format can be resumed in the program that writes it.
func (l Formats) Resumes(name string) bool {
	f := l.Find(name)
	return f != nil && f.Resume != nil
}

// Names returns the names of the formats.
func (l Formats) Names() (names []string) {
	for _, f := range l.orAll() {
		names = append(names, f.Name)
	}
	return names
}

func (l Formats) with(has func(*record.Format) bool) Formats {
	return slices.DeleteFunc(slices.Clone(l.orAll()), func(f *record.Format) bool { return !has(f) })
}

// WithFolders returns the formats whose transcripts are in a known place.
func (l Formats) WithFolders() Formats {
	return l.with(func(f *record.Format) bool { return f.Files.Folders != nil || f.Files.Database != nil })
}

// WithSettings returns the formats of agents whose settings tape record install can change.
func (l Formats) WithSettings() Formats {
	return l.with(func(f *record.Format) bool { return f.Agent != nil })
}

// WithHooks returns the formats of agents that are recorded by means of their hooks.
func (l Formats) WithHooks() Formats {
	return l.with(func(f *record.Format) bool { return f.Agent != nil && f.Agent.Hooks != "" })
}

// IsSubagent reports whether a file is a subagent's transcript, judging by the file's name.
func (l Formats) IsSubagent(name string) bool {
	return slices.ContainsFunc(l.orAll(), func(f *record.Format) bool {
		return f.Files.SubagentPrefix != "" && strings.HasPrefix(name, f.Files.SubagentPrefix)
	})
}

// IsTranscript reports whether a file may be a transcript, judging by the file's name.
func (l Formats) IsTranscript(path string) bool {
	path = strings.TrimSuffix(path, compressed)
	ext, kept := filepath.Ext(path), false
	for _, f := range l.orAll() {
		if f.Files.IsNote != nil && f.Files.IsNote(filepath.ToSlash(path), filepath.Base(path)) {
			return false
		}
		only := f.Files.Ext
		kept = kept || only != "" && strings.HasSuffix(path, only) || only == "" && (ext == ".json" || ext == ".jsonl")
	}
	return kept
}

// files returns the file that a transcript is in, and the files beside it with parts of the session. path is name as
// an absolute path.
func (l Formats) files(path, name string) (file string, beside []string) {
	if _, db, _ := l.inDatabase(path); db != "" {
		return db, []string{db + walSuffix}
	}
	return name, l.beside(path)
}

// beside returns the notes beside a transcript that have parts of its session.
func (l Formats) beside(path string) (out []string) {
	for _, f := range l.orAll() {
		if f.Files.Beside != nil && strings.HasSuffix(path, f.Files.Ext) {
			out = append(out, f.Files.Beside(path)...)
		}
	}
	return out
}
