package record

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/text/jsonl"
)

// Format is what tape knows about a format of transcripts and the program that writes it. To add
// one, write its package with a value of this type, and add it to the list in importer.All.
type Format struct {
	Name     string // as users write it
	Title    string // what people call the program
	Read     func(context.Context, *Reading) error
	Describe func(context.Context, Source, *Info) error
	// Text is set if a file is no JSON, so that records in it are only quoted. Head recognises it.
	Text bool
	// Many is set if a file may be a list of sessions. Read and Describe get one session at a time.
	Many bool

	// How a file is recognised: by its first records; by its first bytes, if no format recognises a
	// record in them; and by its path, with slashes, if its content fits several formats or none. Head
	// and Path may be nil.
	Record func(Members) Confidence
	Head   func([]byte) Confidence
	Path   func(path, stem string) bool

	// Named reports whether a file whose path is like the format's is in it, by its first bytes, although they are also
	// like those of others; nil: the path does not decide that.
	Named func(head []byte) bool
	// Companion reports whether the first record of a file shows that it is one that the program keeps beside its
	// transcripts, such as a list of sessions: such a file is left out without a word. It may be nil.
	Companion func(Members) bool

	// Keys is set if entries are stored unchanged, without keys in their meta. It returns a function
	// that makes the key of an entry; call it once for each entry of a tape, in their order.
	Keys func() func(jsonl.Draft) string
	// HasFirst is set if Describe sets [Info.First]. It reports whether the session in src begins with
	// that line, and whether the line is the session's own, not a copy. FirstIn is the pattern of the files
	// to search, relative to the folder of the session's file.
	HasFirst func(ctx context.Context, src Source, first string) (has, own bool)
	FirstIn  string

	Files  Files
	Resume *Resume     // how a session goes on; nil if it cannot
	Writer *Writer     // how a session is written; nil if tape cannot
	Events []HookEvent // events with hooks
	Agent  *Agent      // what tape record install changes; nil if nothing
}

// Files says where a program keeps its transcripts.
type Files struct {
	// Folders returns the folders with the user's transcripts; nil if there is no usual place.
	Folders func(user Where) []string
	// Holds reports whether a subfolder may have sessions of a directory; nil: each may.
	Holds func(folder, dir string) bool
	// MadeIn is set if Describe may not find the session's directory. It reports whether the beginning
	// of a file shows that the session ran in dir.
	MadeIn func(head []byte, dir string) bool
	// Subagents returns the folder with the files of a session's subagents, "" if there is none; nil if they have none. A
	// subagent may have a folder in it, with a file of the same name as the session's.
	Subagents func(path, session string) string
	// BeginsLike returns the path of another transcript whose history the one in a file begins with, if the name of the
	// file says so; "" if not; nil: no name does.
	BeginsLike func(path string) string
	// Ext is the end of the names of all transcripts; "" stands for ".json" and ".jsonl".
	Ext string
	// Compressed is set if the agent compresses some transcripts with zstd.
	Compressed bool
	// SubagentPrefix is the beginning of the names of subagents' files.
	SubagentPrefix string
	// IsNote reports whether a file in a folder of transcripts is not one, by its path with slashes and its name; nil: all
	// are.
	IsNote func(path, name string) bool
	// Beside returns the paths of the notes beside a transcript that have parts of the session; nil: none have.
	Beside func(path string) []string
	// Former reports whether another file, from which a session was imported before the one at path was there, has the
	// same session in another form. A tape that began with it goes on with it. nil: no file has.
	Former func(path, other string) bool
	// Database is set if sessions are in databases instead of files.
	Database *Database
}

// OfSubagents returns the files of a session's subagents. path is the session's own.
func (f Files) OfSubagents(path, session string) (out []string) {
	if f.Subagents == nil {
		return nil
	}
	dir := f.Subagents(path, session)
	if dir == "" {
		return nil
	}
	list, _ := os.ReadDir(dir) // usually there is no such folder
	for _, e := range list {
		file := filepath.Join(dir, e.Name())
		if e.IsDir() {
			file = filepath.Join(file, filepath.Base(path))
		}
		if st, err := os.Lstat(file); err == nil && st.Mode().IsRegular() && file != path {
			out = append(out, file)
		}
	}
	return out
}

// Database says how a program keeps sessions in SQLite databases. The path of a session is its database's
// path, a slash, and the session's id.
type Database struct {
	File string // the name of each database's file; * stands for any characters
	// Tables are those that each database has, and that Sessions and Write ask. A database in which one is not a plain
	// table is refused.
	Tables []string
	// OrTables are those that a database may have instead, because a newer version made it; nil if none has.
	OrTables []string
	// Later are tables that only newer versions have.
	Later []string
	// Compressed is set if values may be compressed with zstd: see [Unpack].
	Compressed bool
	// JSON are the names of columns whose texts are JSON, and become so in the answers.
	JSON []string
	// Unwatched is set if the program writes to the database all the time, and it may be large: tape watch leaves it out.
	Unwatched bool
	// Elsewhere reports whether a session is also in a file that the format reads, and so left out; nil: none is.
	Elsewhere func(path, id string) bool
	// All returns the user's databases, which need not exist any more.
	All func(user Where) []DatabaseFile
	// Sessions returns the sessions in a database. Those of subagents have a Parent, and come after the others; they are
	// left out if Write writes them into their sessions.
	Sessions func(context.Context, Ask) ([]KeptSession, error)
	// Write writes the session with an id as a transcript. path is the database's.
	Write func(ctx context.Context, ask Ask, path, id string, w io.Writer) error
}

// Ask asks a database a question, in SQL, and returns the rows of the answer as JSON objects. Time and memory are
// limited.
type Ask func(ctx context.Context, question string, args ...any) ([][]byte, error)

// DatabaseFile is a database with the sessions of a directory; Dir is "" if each session has its own.
type DatabaseFile struct{ Path, Dir string }

// KeptSession is a session in a database.
type KeptSession struct {
	ID      string
	Parent  string // the session that started it; "" if it is no subagent's
	Dir     string // its project; "" if the database's Dir says it, or it is not known
	Changed string // the date of its last change, as [Date] returns it; "" if that is not known
}

// Resume says how a session goes on in the program that made it. The program's name and its options
// are written here: nothing recorded chooses them.
type Resume struct {
	Program string   // looked up in PATH
	Args    []string // the session's id follows them
	// IsID reports whether a text is the id of a session, and so safe as an argument.
	IsID func(string) bool
	// Entry is the name of the anchor or event that has the session's id. Member is the member of its
	// state or data. Usually the id is also the tape's name.
	Entry, Member string
	// IsFile reports whether a transcript may be the session's; stem is the file's name without extension.
	// It is nil if Has is set.
	IsFile func(stem, id string) bool
	// Refused says why the program does not resume the sessions in a folder; "" if it does. It may be nil.
	Refused func(folder string) string
	// Has returns the directory in which to start the program, here if any will do; "" if the program does not have
	// the session. It is set if names of files do not show that.
	Has func(user Where, id, here string) (dir string)
}

// FolderAboveHas reports whether a folder that a file is in has a file with a name below it; the name is a pattern.
func FolderAboveHas(file, name string) bool {
	for dir, above := file, filepath.Dir(file); dir != above; dir, above = above, filepath.Dir(above) {
		if len(disk.Glob(above, name)) > 0 {
			return true
		}
	}
	return false
}

// FileContains reports whether a file contains a text; false if the file cannot be read.
func FileContains(file, text string) bool {
	if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() {
		return false // opening a pipe would wait
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	buf, kept := make([]byte, 1<<20), 0
	for {
		n, err := f.Read(buf[kept:])
		have := buf[:kept+n]
		if bytes.Contains(have, []byte(text)) {
			return true
		}
		if err != nil {
			return false
		}
		kept = copy(buf, have[max(0, len(have)-len(text)+1):])
	}
}

// IsUUID reports whether a text is a UUID.
func IsUUID(id string) bool {
	parts := strings.Split(strings.ToLower(id), "-")
	return len(id) == 36 && len(parts) == 5 && len(parts[0]) == 8 && len(parts[1]) == 4 && len(parts[2]) == 4 && len(parts[3]) == 4 &&
		strings.Trim(strings.Join(parts, ""), "0123456789abcdef") == ""
}

// Confidence says how surely content is of a format.
type Confidence int

// In ascending order.
const (
	NoMatch Confidence = iota
	Low
	Medium
	High
	Certain
)

// If returns c if ok is true, and NoMatch otherwise.
func (c Confidence) If(ok bool) Confidence {
	if ok {
		return c
	}
	return NoMatch
}

// Members are the members of a record, raw JSON by name.
type Members map[string][]byte

// MembersOf returns the members of an object.
func MembersOf(raw []byte) Members {
	m := Members{}
	maps.Insert(m, jsonl.Fields(raw))
	return m
}

// Has reports whether all these members exist.
func (m Members) Has(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return m[name] == nil })
}

// Text returns a member that is a string, "" for others.
func (m Members) Text(name string) string { return Text(m[name]) }

// HasMessages reports whether there is a list of messages, one of which may have a member.
func (m Members) HasMessages(member string) bool {
	return m["messages"] != nil && mayHave(m["messages"], member)
}

// mayHave reports whether a message of a list has a member, or may have it, because the list is cut off
// within its first message.
func mayHave(list []byte, member string) bool {
	_, err := jsonl.Prefix(list)
	complete := err == nil
	for m := range jsonl.Elements(list) {
		if jsonl.Get(m, member) != nil {
			return true
		}
		_, err := jsonl.Prefix(m)
		complete = complete || err == nil
	}
	return !complete
}

// ContainsAll reports whether the beginning of a file contains all these words.
func ContainsAll(head []byte, words ...string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !bytes.Contains(head, []byte(w)) })
}

// HeadHasMessages is [Members.HasMessages] for the beginning of a file, which may be a list itself, but not empty.
func HeadHasMessages(head []byte, member string) bool {
	_, list, found := bytes.Cut(head, []byte(`"messages"`))
	if list = bytes.TrimLeft(list, ": \t\r\n"); head[0] == '[' {
		list, found = head, true
	}
	return found && mayHave(list, member)
}

// Where says whose settings and transcripts are meant: a project's or the user's.
type Where struct {
	Project string // "" for the user's own
	Local   bool   // the project's settings that are not committed
	Home    string
	Getenv  func(string) string
}

// User returns the same user without a project.
func (w Where) User() Where { return Where{Home: w.Home, Getenv: w.Getenv} }

// Folder returns the folder with that name in the project or the home directory. The environment
// variable, unless it is "" or not set, names the user's folder instead.
func (w Where) Folder(name, variable string) string {
	if w.Project != "" {
		return filepath.Join(w.Project, name)
	}
	if dir := w.Getenv(variable); variable != "" && dir != "" {
		return dir
	}
	return filepath.Join(w.Home, name)
}

// Places returns the folders that an environment variable names, else the one with that name in the home directory.
// Several have commas between them, as in other programs that read sessions (ryoppippi/ccusage).
func (w Where) Places(name, variable string) (out []string) {
	for dir := range strings.SplitSeq(w.Getenv(variable), ",") {
		if dir = strings.TrimSpace(dir); dir != "" {
			out = append(out, dir)
		}
	}
	if out == nil {
		out = []string{filepath.Join(w.Home, name)}
	}
	return out
}

// Dashed returns the name that Claude Code and Qwen Code give to the folder of a directory: with a dash for
// everything but ASCII letters and digits.
func Dashed(dir string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, dir)
}
