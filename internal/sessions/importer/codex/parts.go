package codex

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Since version 0.146 a session may go on in another file, rollout-DATE-SESSION_PART.jsonl, whose session_meta has the
// session's id and, as history_base, how far it goes on with which file: to all of it, or, if turns were taken back, to a
// part (openai/codex#31433, farion1231/cc-switch#6905, apache/maka#5450). A fork has a history_base, too, and another id.

// nameOf returns the ids of the session and of the part in the name of a file; "" if it has none. The first part has the
// session's id.
func nameOf(stem string) (session, part string) {
	rest := strings.TrimPrefix(stem, "rollout-")
	rest = rest[min(len(rest), len("2006-01-02T15-04-05-")):]
	session, part, further := strings.Cut(rest, "_")
	if !further {
		part = session
	}
	if !record.IsUUID(session) || !record.IsUUID(part) {
		return "", ""
	}
	return session, part
}

// goesOn reports whether a record begins a file that goes on with another one of the same session.
func goesOn(it item, stem string) bool {
	session, part := nameOf(stem)
	return it.typ == "session_meta" && jsonl.Get(it.payload, "history_base") != nil && part != session && it.str("id") == session
}

// continuation is the type that a file's first record gets that goes on with another file.
const continuation = "continuation"

// beginPart begins a file with which a session goes on. From here on, keys of what is said begin with the file's part, and so
// does the key of its first record, which is returned; but not if an earlier version of tape has imported the file.
func (c *reader) beginPart(it *item, key string) string {
	it.typ, it.kind = continuation, ""
	if c.Has(key) {
		return key
	}
	_, part := nameOf(c.Stem())
	c.part = part + ":"
	return c.part + key
}

// cutOff returns the offset from which on a file was taken back, because the session's last file does not go on with that;
// -1 if nothing was.
func cutOff(ctx context.Context, src record.Source) int64 {
	session, own := nameOf(src.Stem())
	if session == "" || src.Name == "-" || jsonl.GetString(firstOf(ctx, src), "payload", "history_mode") != "paginated" {
		return -1
	}
	paths := map[string]string{} // by part
	last := own
	for _, path := range later(src.Name, session) { // in the order of their dates
		_, part := nameOf(record.Source{Name: path}.Stem())
		paths[part], last = path, part
	}
	if last == own {
		return -1
	}
	for at := last; at != session; {
		meta := record.Or(jsonl.Get(firstIn(ctx, paths[at]), "payload"), "{}")
		base := jsonl.GetString(meta, "history_base", "thread_id")
		end, ok := number(jsonl.Get(meta, "history_base", "end_byte_offset"))
		if delete(paths, at); base == "" || !ok || base != session && base != own && paths[base] == "" {
			return -1 // a part is missing, or compressed
		}
		if base == own {
			if end < src.Size {
				return end
			}
			return -1
		}
		at = base
	}
	return 0 // none of the parts that count goes on with this one
}

// later returns the files in which a session goes on, the earliest first. They are in the folder of the day on which that
// was, or all in one folder.
func later(path, session string) (out []string) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	dir := filepath.Dir(path)
	days := disk.Glob(filepath.Dir(filepath.Dir(filepath.Dir(dir))), "[0-9]*/[0-9]*/[0-9]*")
	if !slices.Contains(days, dir) {
		days = []string{dir}
	}
	days = slices.DeleteFunc(days, func(day string) bool { return day < dir })
	for _, day := range days {
		out = append(out, disk.Glob(day, "rollout-*-"+session+"_*.jsonl")...)
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	return out
}

// firstIn returns the first record of a file; nil if there is none.
func firstIn(ctx context.Context, path string) []byte {
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil
	}
	return firstOf(ctx, record.Source{Name: path, R: f, Size: st.Size()})
}

func firstOf(ctx context.Context, src record.Source) (first []byte) {
	src.Start = record.Span{}
	_ = record.Scan(ctx, src, isRecord, nil, func(_ record.Span, raw []byte) bool {
		first = slices.Clone(raw)
		return false
	}) // what cannot be read has none
	return first
}
