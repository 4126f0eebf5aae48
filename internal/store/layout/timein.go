package layout

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// TimeIn returns the day, week, month or year that a text names among other words, from its beginning until the next one
// begins, and the words that name it: yesterday, "last week", "3 weeks ago", 2026-11-20, 12.3.2026, "12 March",
// "March 12th, 2026", "in March", "März 2026", "12 de marzo". A day or month without a year is the last one up to now.
// named is "" if the text names none, or has no other words. What is in double quotes is no time.
func TimeIn(text string, now time.Time) (from, next time.Time, named string) {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("?!,;:'’()", r) })
	words = words[:min(len(words), 64)] // a search has no more
	for i := range words {
		words[i] = strings.Trim(words[i], ".")
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	for i := range words {
		t, length, n := timeAt(words, i, now)
		if n == 0 || n == len(words) {
			continue
		}
		if _, weekday := parseWeekday(strings.ToLower(words[i+n-1])); weekday { // of the date that follows, if one does
			if of, day, more := timeAt(words, i+n, now); more > 0 && day == (span{days: 1}) && n+more < len(words) {
				t, n = of, n+more
			}
		}
		if i > 1 && length == (span{days: 1}) && strings.EqualFold(words[i-1], "of") && strings.EqualFold(words[i-2], "week") {
			t, length = t.AddDate(0, 0, -(int(t.Weekday())+6)%7), span{days: 7}
		}
		return t, length.after(t), strings.Join(words[i:i+n], " ")
	}
	return from, next, ""
}

// timeAt reads the longest time that begins with the i-th word, and returns of how many words it is, 0 if there is none.
func timeAt(words []string, i int, now time.Time) (from time.Time, length span, n int) {
	for n := min(5, len(words)-i); n > 0; n-- {
		lower := strings.Fields(strings.ToLower(strings.Join(words[i:i+n], " ")))
		t, length, ok := timeOf(lower, i > 0 && beforeMonth(strings.ToLower(words[i-1])), now)
		if ok && t.Year() >= 1970 && !isVerb(words, i, n) && !(lower[0] == "last" && i+n < len(words) && strings.EqualFold(words[i+n], "of")) {
			return t, length, n
		}
	}
	return from, length, 0
}

// isVerb reports whether two words, "may" and a number that is no year, are more likely not a day: "the top 10 may fail".
// They are a day if May has a capital, if a word such as "on" stands before them, or if no word follows.
func isVerb(words []string, i, n int) bool {
	if n != 2 || words[i] != "may" && words[i+1] != "may" || len(words[i]+words[i+1]) > len("12may") || i+n == len(words) {
		return false
	}
	return i == 0 || !slices.Contains([]string{"on", "of", "in", "by", "from", "since", "until", "till", "before", "after"}, strings.ToLower(words[i-1]))
}

// timeOf reads words that all belong to a time. month says that a month may stand alone: may and march are other
// words, too.
func timeOf(words []string, month bool, now time.Time) (from time.Time, length span, ok bool) {
	last := words[len(words)-1]
	switch {
	case len(words) == 1 && len(last) == 3 && !month: // "now", and "sun" is rarely a day
		return from, length, false
	case len(words) < 3:
		if from, next, ok := namedRange(words, now); ok && next.After(from) {
			for _, length := range []span{{days: 1}, {days: 7}, {months: 1}, {years: 1}} {
				if !length.after(from).Before(next) {
					return from, length, true
				}
			}
		}
	}
	if len(words) == 3 && last == "ago" {
		return agoRange(words, now)
	}
	if len(words) == 1 {
		for _, layout := range []string{time.DateOnly, "2.1.2006"} {
			if t, err := time.ParseInLocation(layout, last, now.Location()); err == nil {
				return t, span{days: 1}, true
			}
		}
	}
	if between(words[0]) || between(last) {
		return from, length, false
	}
	return calendar(slices.DeleteFunc(words, between), month, now)
}

// between reports whether a word may be between a day, a month and a year.
func between(word string) bool { return word == "of" || word == "de" }

// agoRange reads "3 days ago" and "a week ago" as the days around then.
func agoRange(words []string, now time.Time) (from time.Time, length span, ok bool) {
	n, known := map[string]string{"a": "1", "an": "1", "one": "1", "two": "2", "three": "3", "four": "4"}[words[0]]
	if !known {
		n = words[0]
	}
	t, ok := parseAge([]string{n, words[1], "ago"}, now)
	year, month, day := t.Date()
	from = time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	switch strings.TrimSuffix(words[1], "s") {
	case "week":
		return from.AddDate(0, 0, -3), span{days: 7}, ok
	case "month":
		return from.AddDate(0, 0, -15), span{months: 1}, ok
	case "year":
		return from.AddDate(0, -6, 0), span{years: 1}, ok
	}
	return from, span{days: 1}, ok
}

// calendar reads the name of a month, with a day, a year, or both.
func calendar(words []string, alone bool, now time.Time) (from time.Time, length span, ok bool) {
	at := slices.IndexFunc(words, func(w string) bool { return monthOf(w) != 0 })
	if at < 0 || len(words) > 3 {
		return from, length, false
	}
	day, year := 0, 0
	for i, w := range words {
		n, err := strconv.Atoi(w)
		if err != nil {
			n, err = strconv.Atoi(strings.TrimRight(w, "sthndr"))
		}
		switch {
		case i == at:
		case err == nil && n >= 1 && n <= 31 && day == 0 && len(w) < 5 && (i == at-1 || i == at+1):
			day = n
		case err == nil && len(w) == 4 && n >= 1970 && n < 2100 && year == 0 && i > at:
			year = n
		default:
			return from, length, false
		}
	}
	if length = (span{days: 1}); day == 0 {
		day, length = 1, span{months: 1}
		if year == 0 && !alone {
			return from, length, false
		}
	}
	month := monthOf(words[at])
	of := year
	if year == 0 {
		of = now.Year()
	}
	from = time.Date(of, month, day, 0, 0, 0, 0, now.Location())
	if year == 0 && from.After(now) {
		from = time.Date(of-1, month, day, 0, 0, 0, 0, now.Location())
	}
	return from, length, from.Month() == month
}

// beforeMonth reports whether a month that follows this word needs neither a day nor a year.
func beforeMonth(word string) bool {
	return slices.Contains([]string{"in", "during", "im", "en", "since", "last", "early", "late", "mid", "of", "letzten", "seit"}, word)
}

// monthOf returns the month that has this English, German or Spanish name, or its first three letters; else 0.
func monthOf(word string) time.Month {
	// Two spaces are between months.
	const names = " january januar enero jan ene  february februar febrero feb  march märz marzo mar mär  april abril apr abr  may mai mayo  june juni junio jun " +
		" july juli julio jul  august agosto aug ago  september septiembre sep sept  october oktober octubre oct okt  november noviembre nov  december dezember diciembre dec dez dic "
	if at := strings.Index(names, " "+word+" "); at >= 0 && word != "" {
		return time.Month(strings.Count(names[:at+1], "  ") + 1)
	}
	return 0
}
