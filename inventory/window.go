package inventory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Window is when work may begin: between two times of day, on some days of
// the week, in a time zone. The zero value is open at all times.
type Window struct {
	text     string
	days     [7]bool // on which it opens, by time.Weekday
	from, to clock
	zone     *time.Location
}

// A clock is a time of day.
type clock struct{ hour, minute int }

// IsZero reports whether there is no window.
func (w Window) IsZero() bool { return w.zone == nil }

func (w Window) String() string { return w.text }

// Next is when work may begin next: t itself while the window is open.
func (w Window) Next(t time.Time) time.Time {
	if w.IsZero() {
		return t
	}
	year, month, day := t.In(w.zone).Date()
	// One that opened yesterday may last until today; a week later all days
	// have been.
	for i := -1; i <= 8; i++ {
		opens := time.Date(year, month, day+i, w.from.hour, w.from.minute, 0, 0, w.zone)
		last := day + i
		if !w.to.after(w.from) {
			last++
		}
		shuts := time.Date(year, month, last, w.to.hour, w.to.minute, 0, 0, w.zone)
		if !w.days[time.Date(year, month, day+i, 12, 0, 0, 0, w.zone).Weekday()] || !shuts.After(t) {
			continue
		}
		if opens.After(t) {
			return opens
		}
		return t
	}
	return t.AddDate(0, 0, 1) // clocks were changed over a whole window: look again tomorrow
}

func (c clock) after(d clock) bool {
	return c.hour > d.hour || c.hour == d.hour && c.minute > d.minute
}

// ParseWindow reads "Sat,Sun 22:00-04:00 Europe/Berlin" or "22:00-04:00 UTC".
// The zone must be there: a laptop and a pipeline seldom live in the same one.
func ParseWindow(s string) (Window, error) {
	w := Window{text: s}
	words := strings.Split(s, " ")
	if len(words) == 2 {
		words = slices.Insert(words, 0, "Mon-Sun")
	}
	if len(words) != 3 {
		return w, fmt.Errorf(`%q is not days, hours and a time zone, as in "Sat,Sun 22:00-04:00 Europe/Berlin"`, w.text)
	}
	for _, part := range strings.Split(words[0], ",") {
		if err := w.addDays(part); err != nil {
			return w, err
		}
	}
	hours := regexp.MustCompile(`^([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-4]):([0-5][0-9])$`).FindStringSubmatch(words[1])
	if hours == nil || hours[3] == "24" && hours[4] != "00" {
		return w, fmt.Errorf(`%q are not hours such as 22:00-04:00`, words[1])
	}
	two := func(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }
	w.from, w.to = clock{two(hours[1]), two(hours[2])}, clock{two(hours[3]), two(hours[4])}
	if w.from == w.to {
		return w, fmt.Errorf("%s is open for no time at all; a whole day is 00:00-24:00", words[1])
	}
	zone, err := time.LoadLocation(words[2])
	if err != nil || words[2] == "Local" || words[2] == "" {
		return Window{}, fmt.Errorf(`%q is not a time zone such as UTC or Europe/Berlin`, words[2])
	}
	w.zone = zone
	return w, nil
}

// addDays adds "Sat" or "Mon-Fri"; "Sat-Mon" goes over the end of the week.
func (w *Window) addDays(part string) error {
	names := []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}
	first, last, ranged := strings.Cut(part, "-")
	if !ranged {
		last = first
	}
	from, to := slices.Index(names, first), slices.Index(names, last)
	if from < 0 || to < 0 {
		return fmt.Errorf("%q is not a day or days such as Sat or Mon-Fri", part)
	}
	for i := from; ; i = (i + 1) % 7 {
		w.days[i] = true
		if i == to {
			return nil
		}
	}
}
