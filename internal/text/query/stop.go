package query

import (
	"strings"
	"unicode/utf8"

	"tape/internal/text"
)

// stopWords are words that carry nothing in a question: of English, German and Spanish, folded, with spaces around
// each. They are no map, because making one takes time at each start.
const stopWords = " a about after again all also am an and any are aren't as at be because been before being but by came can can't cannot come could couldn't " +
	"did didn't do does doesn't doing don't done for from get gets getting go goes going got had has have having he her here hers him his how i i'd i'll i'm i've " +
	"if in into is isn't it it's its itself just let let's like me might more most much must my no not now of off on once one only or other our ours out over own " +
	"please same she should so some such than that that's the their them then there there's these they thing things this those to too up upon us use used " +
	"very was wasn't way we we'd we'll we're we've were weren't what what's when where where's which while who whom whose why will with within without won't would " +
	"wouldn't yet you you'd you'll you're you've your yours " +
	// German
	"aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem den denn der des dessen die dies " +
	"diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas fur gab gegen gibt habe haben hat hatte hatten hier ich ihm " +
	"ihn ihr ihre im immer in ins ist ja jede jedem jeden jeder jetzt kann kannst konnen konnte man mein meine mich mir mit muss nach nicht nichts noch nun nur ob " +
	"oder ohne sehr sein seine sich sie sind so soll sollte sondern uber um und uns unser unsere unter vom von vor wann war waren warum was weil welche welchen " +
	"welcher welches wenn wer werden wie wieder wieso weshalb will wir wird wo worden wurde wurden zu zum zur zwischen " +
	// Spanish
	"al algo alguna algunas alguno algunos ante antes aquel aqui asi aun aunque cada como con contra cual cuales cuando cuanto de del desde donde dos durante e el " +
	"ella ellas ellos en entre era eran es esa ese eso esta estaba estaban estan estar este esto estos esas esos estas fue fueron ha hace hacen hacer hacia han " +
	"hasta hay he hemos hizo la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero poco por porque pues que quien quienes " +
	"se sea ser si sido sin sobre son su sus tambien tan tanto te tenia tiene tienen todo todos tu tus un una unas uno unos y ya yo "

// stopRuns are words of Chinese that carry nothing, with spaces around each.
const stopRuns = " 为什么 是什么 什么时候 什么 怎么样 怎么办 怎么 怎样 如何 为何 哪里 哪个 哪些 是否 我们 你们 他们 这个 那个 这些 那些 一个 一下 之前 之后 时候 " +
	"的 了 吗 呢 吧 么 啊 嘛 "

// isStop reports whether a folded word carries nothing.
func isStop(word string) bool {
	list := stopWords
	if word != "" && word[0] >= 0x80 {
		list = stopRuns
	}
	i := strings.Index(list, word)
	for i > 0 && i+len(word) < len(list) && (list[i-1] != ' ' || list[i+len(word)] != ' ') {
		n := strings.Index(list[i+1:], word)
		if n < 0 {
			return false
		}
		i += 1 + n
	}
	return i > 0 && word != "" && !strings.Contains(word, " ")
}

// withoutStops returns a word, "" if it carries nothing. Of Chinese, it cuts off what carries nothing at both ends.
func withoutStops(word string) string {
	pieces := foldPieces(strings.ReplaceAll(word, "’", "'"))
	if len(pieces) == 0 || isStop(string(pieces[0].lit)) {
		return ""
	}
	if p := pieces[0]; len(p.runs) == 1 && p.runs[0].class == text.Dense {
		if kept := splitStops(string(p.lit)); len(kept) == 0 {
			return ""
		} else if first, last := kept[0], kept[len(kept)-1]; len(first)+len(last) < len(p.lit) || len(kept) == 1 {
			from := strings.Index(string(p.lit), first)
			return string(p.lit[from : strings.LastIndex(string(p.lit), last)+len(last)])
		}
	}
	return word
}

// splitStops cuts a run of Chinese at the words that carry nothing.
func splitStops(run string) []string {
	var out []string
	start := 0
	for i := 0; i < len(run); {
		n := stopAt(run[i:])
		if n == 0 {
			_, size := utf8.DecodeRuneInString(run[i:])
			i += size
			continue
		}
		if i > start {
			out = append(out, run[start:i])
		}
		i += n
		start = i
	}
	if start < len(run) {
		out = append(out, run[start:])
	}
	return out
}

// stopAt returns the length of the longest word that carries nothing at the beginning of a run; 0 if there is none.
func stopAt(run string) (n int) {
	for word := range strings.FieldsSeq(stopRuns) {
		if len(word) > n && strings.HasPrefix(run, word) {
			n = len(word)
		}
	}
	return n
}
