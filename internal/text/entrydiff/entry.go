package entrydiff

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/internal/text/jsonl"
)

// Entry returns the values in which two versions of an entry differ: first those of
// the old version's members, in their order, then those that only the new one has. A
// nil line is absent. Equal lines have no difference; all others have at least one,
// even if a line is not an entry.
//
// Arrays are compared by position between their common beginning and end. Texts are
// compared for at most a second in total; the rest then counts as replaced.
func Entry(old, new []byte) []Difference {
	if bytes.Equal(old, new) && (old == nil) == (new == nil) {
		return nil
	}
	d := differ{deadline: time.Now().Add(maxTime)}
	_, errOld := jsonl.Parse(old)
	_, errNew := jsonl.Parse(new)
	if errOld == nil && errNew == nil {
		d.members("", old, new)
	}
	if len(d.found) == 0 {
		p := Difference{Old: string(old), New: string(new), HasOld: old != nil, HasNew: new != nil}
		if p.HasOld && p.HasNew {
			p.Text = d.text(p.Old, p.New)
		}
		d.found = append(d.found, p)
	}
	return d.found
}

// maxTime bounds the comparison of the texts of one entry.
const maxTime = time.Second

type differ struct {
	deadline time.Time
	found    []Difference
}

// value compares two values, nil for an absent one.
func (d *differ) value(path string, old, new []byte) {
	if bytes.Equal(old, new) {
		return
	}
	if old != nil && new != nil {
		switch {
		case old[0] == '{' && new[0] == '{':
			d.members(path, old, new)
			return
		case old[0] == '[' && new[0] == '[':
			d.elements(path, old, new)
			return
		}
	}
	d.leaf(path, old, new)
}

// leaf adds the difference of two values that are not compared member by member.
func (d *differ) leaf(path string, old, new []byte) {
	p := Difference{Path: path, Old: string(old), New: string(new), HasOld: old != nil, HasNew: new != nil}
	oldText, oldIsText := jsonl.String(old)
	newText, newIsText := jsonl.String(new)
	switch {
	case oldIsText && newIsText && oldText != newText:
		p.Old, p.New = oldText, newText
		p.Text = d.text(oldText, newText)
	case oldIsText && !p.HasNew:
		p.Old = oldText
	case newIsText && !p.HasOld:
		p.New = newText
	}
	d.found = append(d.found, p)
}

// member is a key of an object; nth counts repeated keys.
type member struct {
	key string
	nth int
}

// members compares objects; of repeated keys, the n-th is compared with the n-th.
func (d *differ) members(path string, old, new []byte) {
	first, olds := membersOf(old, path == "")
	second, news := membersOf(new, path == "")
	for _, m := range first {
		d.value(join(path, m.key), olds[m], news[m])
	}
	for _, m := range second {
		if _, ok := olds[m]; !ok {
			d.value(join(path, m.key), nil, news[m])
		}
	}
}

// membersOf lists the members of an object. If the object is an entry without meta,
// it adds an empty meta.
func membersOf(obj []byte, entry bool) (order []member, values map[member][]byte) {
	values = make(map[member][]byte)
	counts := make(map[string]int)
	add := func(k string, v []byte) {
		m := member{k, counts[k]}
		counts[k]++
		order = append(order, m)
		values[m] = v
	}
	for k, v := range jsonl.Fields(obj) {
		add(k, v)
	}
	if entry && counts["meta"] == 0 {
		add("meta", []byte("{}"))
	}
	return order, values
}

func (d *differ) elements(path string, old, new []byte) {
	a, b := slices.Collect(jsonl.Elements(old)), slices.Collect(jsonl.Elements(new))
	at := 0
	for at < len(a) && at < len(b) && bytes.Equal(a[at], b[at]) {
		at++
	}
	a, b = a[at:], b[at:]
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for i := range max(len(a), len(b)) {
		var v, w []byte
		if i < len(a) {
			v = a[i]
		}
		if i < len(b) {
			w = b[i]
		}
		d.value(path+"["+strconv.Itoa(at+i)+"]", v, w)
	}
}

func join(path, key string) string {
	if !plain(key) {
		return path + "[" + string(jsonl.AppendString(nil, key)) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// plain reports whether a key needs no quotes in a path.
func plain(key string) bool {
	return key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$") == ""
}
