package record

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"

	"tape/internal/text/jsonl"
)

// Format is what tape knows about a format of transcripts and the program that writes it. To add
// one, write its package with a value of this type, and add it to the list in importer.All.
type Format struct {
	Name     string // as users write it
	Read     func(context.Context, *Reading) error
	Describe func(context.Context, Source, *Info) error

	// How a file is recognised: by its first records, by its first bytes where no record is whole,
	// and by its path, with slashes, where the content could be of several formats. Head and Path may
	// be nil.
	Record func(Members) Likeness
	Head   func([]byte) Likeness
	Path   func(path, stem string) bool

	// Keys is set for a format whose entries are stored unchanged, without keys in their meta. It
	// returns a function that makes the key of each entry of a tape, called in their order.
	Keys func() func(jsonl.Draft) string
	// HasFirst is set for a format that sets [Info.First]. It reports whether another session begins
	// with that line, and whether the line is that session's own.
	HasFirst func(ctx context.Context, src Source, first string) (has, own bool)

	Files  Files
	Events []HookEvent // what is told while a session goes on
	Agent  *Agent      // for a program that tape record install can change; nil for others
}

// Files says where a program keeps its transcripts.
type Files struct {
	// Folders are those in which the user's transcripts are; nil if there is no usual place.
	Folders func(user Where) []string
	// Holds reports whether one of the subfolders may have sessions of a directory; nil: each may.
	Holds func(folder, dir string) bool
	// Directory is the directory that a record names, as JSON; nil if it names none.
	Directory func(raw []byte) []byte
	// MadeIn is set for a format whose records name no directory: whether the beginning of a file
	// shows that it was made in one.
	MadeIn func(head []byte, dir string) bool
	// Subagents is the folder with the files of a session's subagents; nil if they have none.
	Subagents func(path, session string) string
	// SubagentPrefix is what the names of those files begin with, NoteSuffix what the names of other
	// files beside transcripts end with.
	SubagentPrefix, NoteSuffix string
}

// Likeness says how much something looks like a format.
type Likeness int

// The likenesses, from none on.
const (
	Unlike Likeness = iota
	Barely
	Perhaps
	Likely
	Surely
)

// If is the likeness when ok is true, and Unlike otherwise.
func (l Likeness) If(ok bool) Likeness {
	if ok {
		return l
	}
	return Unlike
}

// Members are those of a record.
type Members map[string][]byte

// MembersOf collects the members of an object.
func MembersOf(raw []byte) Members {
	m := Members{}
	for name, v := range jsonl.Fields(raw) {
		m[name] = v
	}
	return m
}

// Has reports whether all these members are there.
func (m Members) Has(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return m[name] == nil })
}

// Text is a member that is a string.
func (m Members) Text(name string) string { return Text(m[name]) }

// HasMessages reports whether there is a list of messages that may have a member.
func (m Members) HasMessages(member string) bool {
	return m["messages"] != nil && MayHave(m["messages"], member)
}

// MayHave is false if no message of a list has a member. Of a list that is cut off before the end
// of its first message, that cannot be told.
func MayHave(list []byte, member string) bool {
	_, err := jsonl.Prefix(list)
	whole := err == nil
	for m := range jsonl.Elements(list) {
		if jsonl.Get(m, member) != nil {
			return true
		}
		_, err := jsonl.Prefix(m)
		whole = whole || err == nil
	}
	return !whole
}

// ContainsAll reports whether the beginning of a file has all these words.
func ContainsAll(head []byte, words ...string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !bytes.Contains(head, []byte(w)) })
}

// HeadHasMessages is [Members.HasMessages] for the beginning of a file. A list may be the whole file.
func HeadHasMessages(head []byte, member string) bool {
	_, list, found := bytes.Cut(head, []byte(`"messages"`))
	if list = bytes.TrimLeft(list, ": \t\r\n"); head[0] == '[' {
		list, found = head, true
	}
	return found && MayHave(list, member)
}

// Where says whose settings and transcripts are meant.
type Where struct {
	Project string // "" for the user's own
	Local   bool   // of the project, those that are not committed
	Home    string
	Getenv  func(string) string
}

// User is the same user without a project.
func (w Where) User() Where { return Where{Home: w.Home, Getenv: w.Getenv} }

// Folder is the folder of a program: of that name in the project or the home directory, unless an
// environment variable names the user's.
func (w Where) Folder(name, variable string) string {
	if w.Project != "" {
		return filepath.Join(w.Project, name)
	}
	if dir := w.Getenv(variable); variable != "" && dir != "" {
		return dir
	}
	return filepath.Join(w.Home, name)
}
