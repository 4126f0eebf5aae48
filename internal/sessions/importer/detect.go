package importer

import (
	"bytes"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// detectLines is how many lines decide the format of a file.
const detectLines = 16

// Detect returns the format of a file by its beginning, or nil; 64 KiB are plenty. The name decides only if the content
// fits several formats, or is JSON without a complete record on its first lines.
func (l Formats) Detect(name string, head []byte) *record.Format {
	l = l.orAll()
	head = bytes.TrimPrefix(head, []byte(record.ByteOrderMark))
	head = bytes.TrimLeft(head, " \t\r\n\x00")
	if len(head) == 0 {
		return nil
	}
	if f := l.ofText(head); f != nil {
		return f
	}
	hinted := l.byPath(name)
	if hinted != nil && hinted.Named != nil && hinted.Named(head) {
		return hinted
	}
	votes := map[*record.Format]int{}
	complete := false // there is a record of some kind
	rest := head
	for n := 0; n < detectLines && len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if size, err := jsonl.Prefix(line); err == nil && jsonl.IsObject(line) {
			f, sure := l.byRecord(line[:size])
			votes[f]++
			if sure { // more than any number of lines that many programs write
				votes[f] += detectLines
			}
			complete = true
			if f != nil && votes[f] > (detectLines+1)*detectLines/2 {
				return f // no other can have more
			}
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
	if best == nil && !complete && (head[0] == '{' || head[0] == '[') {
		best = hinted
	}
	return best
}

// ofText returns the format of a file that is no JSON, or nil.
func (l Formats) ofText(head []byte) *record.Format {
	for _, f := range l {
		if f.Text && f.Head(head) == record.Certain {
			return f
		}
	}
	return nil
}

// isCompanion reports whether a file, which is in no format, is one that an agent keeps beside its transcripts.
func (l Formats) isCompanion(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte(record.ByteOrderMark)), " \t\r\n\x00[")
	m := record.MembersOf(head)
	return len(head) == 0 || slices.ContainsFunc(l.orAll(), func(f *record.Format) bool { return f.Companion != nil && f.Companion(m) })
}

// byRecord returns the format of a record, or nil. sure says that no other program writes such a record.
func (l Formats) byRecord(raw []byte) (f *record.Format, sure bool) {
	m := record.MembersOf(raw)
	f = l.mostLike(func(f *record.Format) record.Confidence { return f.Record(m) })
	return f, f != nil && f.Record(m) > record.Medium
}

// byHead returns the format of a file whose beginning has no complete record, or nil.
func (l Formats) byHead(head []byte) *record.Format {
	return l.mostLike(func(f *record.Format) record.Confidence {
		if f.Head == nil {
			return record.NoMatch
		}
		return f.Head(head)
	})
}

// mostLike returns the format with the highest confidence, the last of several; nil if none matches.
func (l Formats) mostLike(confidence func(*record.Format) record.Confidence) (best *record.Format) {
	most := record.NoMatch
	for _, f := range l {
		if is := confidence(f); is != record.NoMatch && is >= most {
			best, most = f, is
		}
	}
	return best
}

// byPath returns the format that a file's name suggests, or nil.
func (l Formats) byPath(name string) *record.Format {
	path, stem := strings.TrimSuffix(strings.ReplaceAll(name, `\`, "/"), compressed), record.Source{Name: name}.Stem()
	for _, f := range l {
		if f.Path != nil && strings.HasSuffix(path, f.Files.Ext) && f.Path(path, stem) {
			return f
		}
	}
	return nil
}
