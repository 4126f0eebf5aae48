package importer

import (
	"bytes"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// detectLines is how many lines have a say in what a file is.
const detectLines = 16

// Detect tells the format of a file from its beginning; some 64 KiB of it are plenty. The name
// decides only where the content could be either. It returns nil if the file is in none of them.
func (l Formats) Detect(name string, head []byte) *record.Format {
	l = l.orAll()
	head = bytes.TrimPrefix(head, []byte(record.ByteOrderMark))
	head = bytes.TrimLeft(head, " \t\r\n\x00")
	if len(head) == 0 {
		return nil
	}
	hinted := l.byPath(name)
	votes := map[*record.Format]int{}
	rest := head
	for n := 0; n < detectLines && len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if size, err := jsonl.Prefix(line); err == nil && jsonl.IsObject(line) {
			votes[l.byRecord(line[:size])]++
		}
	}
	delete(votes, nil)
	var best *record.Format
	for _, f := range l {
		if votes[f] > votes[best] || votes[f] == votes[best] && votes[f] > 0 && f == hinted {
			best = f
		}
	}
	if best == nil {
		best = l.byHead(head)
	}
	if best == nil && (head[0] == '{' || head[0] == '[') {
		best = hinted
	}
	return best
}

// byRecord tells the format of one record, nil when it could be any.
func (l Formats) byRecord(raw []byte) *record.Format {
	m := record.MembersOf(raw)
	return l.likest(func(f *record.Format) record.Likeness { return f.Record(m) })
}

// byHead looks at a beginning without a whole record: many lines, or a long one.
func (l Formats) byHead(head []byte) *record.Format {
	return l.likest(func(f *record.Format) record.Likeness {
		if f.Head == nil {
			return record.Unlike
		}
		return f.Head(head)
	})
}

// likest is the format that something looks most like, of several the first.
func (l Formats) likest(how func(*record.Format) record.Likeness) (best *record.Format) {
	most := record.Unlike
	for _, f := range l {
		if is := how(f); is > most {
			best, most = f, is
		}
	}
	return best
}

// byPath is the format that a file's name suggests, or nil.
func (l Formats) byPath(name string) *record.Format {
	path, stem := strings.ReplaceAll(name, `\`, "/"), record.Source{Name: name}.Stem()
	for _, f := range l {
		if f.Path != nil && f.Path(path, stem) {
			return f
		}
	}
	return nil
}
