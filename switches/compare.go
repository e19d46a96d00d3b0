package switches

// A state is one of the two ends of a comparison. The parts of it that were read
// and stand unchanged (all classes together with the name; each port) are restored
// to the letter, whatever they hold; all other parts are wishes.
type state struct {
	Intent
	Facts Facts
	read  *Text
}

func (c Intent) state() state { return state{Intent: c} }

func (c Reading) state() state {
	return state{Intent{Name: c.Name, Classes: c.Classes, Ports: c.Ports, Watchdog: c.Watchdog, LLDP: c.LLDP, Tagged: c.Tagged}, c.Facts, c.read}
}

// classed is what was read with the classes that are wished.
func (c Reading) classed(want Intent) state {
	s := c.state()
	ports := s.Ports
	s.Intent = want
	s.Ports = ports
	return s
}

// CompareClasses leads to the classes of an intent; ports stay as they are.
func (o *OS) CompareClasses(have Reading, want Intent) (Difference, error) {
	return o.compare(have.state(), have.classed(want))
}

// ComparePort leads from a port as it was read to what is wished of it, on top of
// the classes of an intent. All other ports stay as they are.
func (o *OS) ComparePort(have Reading, want Intent, now, wished Port) (Difference, error) {
	from := have.classed(want)
	from.Ports = []Port{now}
	wished, err := o.taken(have.read, wished)
	if err != nil {
		return Difference{}, err
	}
	to := from
	to.Ports = []Port{wished}
	return o.compare(from, to)
}

// taken is what a wished port becomes on a switch of which that was read.
func (o *OS) taken(observed *Text, p Port) (Port, error) {
	if o.Lines.Takes == nil || observed == nil {
		return p, nil
	}
	return o.Lines.Takes(observed, p)
}

func (o *OS) compare(from, to state) (d Difference, err error) {
	d.Before, d.After = from.Intent, to.Intent
	if d.Send, err = o.render(from, to); err == nil {
		d.Undo, err = o.render(to, from)
	}
	return d, err
}
