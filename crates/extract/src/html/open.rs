//! Tracks the open elements to find where an `a` begins and ends, without building a tree.
//!
//! It follows the HTML standard (13.2.6, scripting off) as far as needed to decide which text an
//! `a` contains: implied end tags, scopes, table structure, the list of active formatting elements
//! with its markers, the adoption agency. If a block closes an `a`, the standard opens it again for
//! the text after the block. Here such an `a` is suspended, and ends when it leaves the list of
//! active formatting elements.
//!
//! Invariants:
//! - Every element in `stack` that has a number is in `formatting`, as open.
//! - Each tag costs at most [`WALK_MAX`] steps besides the elements that it closes, so time is
//!   linear.
//!
//! Not implemented: rules that affect no link (framesets, foster parents, quirks by name of a
//! document type), and the order of clones if formatting elements overlap blocks.

use super::attributes::Attributes;
use super::raw_links::{AnchorEnd, AnchorId, Closing, Mark, RawLinks};
use super::tag::{self, Role, Tag};

/// Maximum number of open elements searched for one. Real pages nest less deeply; in a hostile page
/// each tag may cost this many steps.
const WALK_MAX: usize = 256;

/// Maximum number of equal formatting elements that are opened again after a block ("Noah's Ark
/// clause").
const EQUAL_FORMATTING_MAX: usize = 3;

/// An open element.
#[derive(Debug, Clone, Copy)]
struct Element {
    name: u32,
    role: Role,
    /// The number of a formatting element; 0 for other elements.
    number: u32,
    /// Set for an `a` with a reference.
    anchor: Option<AnchorId>,
    /// The text position in the surrounding `a` when the element began.
    mark: Mark,
}

/// An entry of the list of active formatting elements.
#[derive(Debug, Clone, Copy)]
enum Formatting {
    /// The start of a cell, caption or object: elements before it are not opened again inside.
    Marker,
    Element {
        element: Element,
        /// Whether the element is in the stack.
        is_open: bool,
    },
}

/// The open elements of a document, without `html` and `body`.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    stack: Vec<Element>,
    formatting: Vec<Formatting>,
    /// Number of the last formatting element.
    numbered: u32,
    has_form: bool,
    noscript_depth: u32,
    /// Number of open paragraphs. It is usually 0, which saves a search.
    paragraphs: u32,
    /// Whether a document type was declared.
    pub(super) has_doctype: bool,
}

impl OpenElements {
    /// Returns whether the current place is inside a `noscript`.
    pub(super) fn in_noscript(&self) -> bool {
        self.noscript_depth > 0
    }

    /// Number of open elements.
    pub(super) fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Prepares for text: opens the elements again that a block had closed.
    pub(super) fn before_text(&mut self, text: &[u8], links: &mut RawLinks) {
        let in_table = self
            .stack
            .last()
            .is_some_and(|top| matches!(top.role, Role::Table | Role::RowGroup | Role::Row));
        // White space between the parts of a table belongs to the table.
        if !in_table || !text.iter().all(u8::is_ascii_whitespace) {
            self.reconstruct(links);
        }
    }

    /// Handles a start tag.
    pub(super) fn start(&mut self, tag: Tag, attributes: &Attributes, links: &mut RawLinks) {
        match tag.role {
            Role::Unseen => {}
            Role::Void => self.reconstruct(links),
            Role::Rule => self.close_paragraph(links),
            Role::Inline | Role::Noscript => {
                self.reconstruct(links);
                self.push(tag, links);
            }
            Role::Formatting => {
                self.reconstruct(links);
                self.push_formatting(tag, None);
            }
            Role::Anchor => {
                self.end_open_anchor(tag, links);
                self.reconstruct(links);
                let anchor = links.start_anchor(attributes, self.stack.len());
                self.push_formatting(tag, anchor);
            }
            Role::Block | Role::WeakBlock | Role::List | Role::Paragraph => {
                self.close_paragraph(links);
                self.push(tag, links);
            }
            Role::Heading => {
                self.close_paragraph(links);
                self.pop_top(Role::Heading, links);
                self.push(tag, links);
            }
            Role::Item | Role::Definition => self.start_item(tag, links),
            Role::Form => self.start_form(tag, links),
            Role::Button => {
                self.close_in_scope(tag, links);
                self.reconstruct(links);
                self.push(tag, links);
            }
            Role::Select => {
                // The start tag of a second `select` ends the first.
                if !self.close_in_scope(tag, links) {
                    self.reconstruct(links);
                    self.push(tag, links);
                }
            }
            Role::Choice => {
                self.pop_top(Role::Choice, links);
                self.reconstruct(links);
                self.push(tag, links);
            }
            Role::Ruby => {
                self.pop_top(Role::Ruby, links);
                self.push(tag, links);
            }
            Role::Embedded => {
                self.reconstruct(links);
                self.push(tag, links);
                self.formatting.push(Formatting::Marker);
            }
            Role::Table => self.start_table(tag, links),
            Role::Caption | Role::Column | Role::RowGroup | Role::Row | Role::Cell => {
                self.start_table_part(tag, links);
            }
        }
    }

    /// Handles an end tag.
    pub(super) fn end(&mut self, tag: Tag, links: &mut RawLinks) {
        let same_name = |element: &Element| element.name == tag.name;
        let found = match tag.role {
            Role::Unseen | Role::Void | Role::Rule | Role::Column => None,
            Role::Formatting | Role::Anchor => return self.end_formatting(tag.name, AnchorEnd::Tag, links),
            Role::Inline | Role::Noscript | Role::Choice | Role::Ruby => {
                self.find(same_name, Role::is_special)
            }
            Role::Paragraph => self.paragraph(),
            Role::Heading => self.find(|e| e.role == Role::Heading, Role::ends_scope),
            Role::Item => self.find(same_name, |role| role.ends_scope() || role == Role::List),
            Role::Form => return self.end_form(links),
            Role::Block | Role::WeakBlock | Role::List | Role::Definition => {
                self.find(same_name, Role::ends_scope)
            }
            Role::Button | Role::Select | Role::Embedded => self.find(same_name, Role::ends_scope),
            Role::Table | Role::Caption | Role::RowGroup | Role::Row | Role::Cell => {
                self.find(same_name, |role| role == Role::Table)
            }
        };
        if let Some(found) = found {
            self.pop_to(found, links);
        }
    }

    /// Returns the position in the stack of the innermost wanted element, if no `boundary` is above
    /// it.
    fn find(&self, wanted: impl Fn(&Element) -> bool, boundary: impl Fn(Role) -> bool) -> Option<usize> {
        for (place, element) in self.stack.iter().enumerate().rev().take(WALK_MAX) {
            if wanted(element) {
                return Some(place);
            }
            if boundary(element.role) {
                return None;
            }
        }
        None
    }

    fn push(&mut self, tag: Tag, links: &RawLinks) {
        self.push_named(tag.name, tag.role, links);
    }

    fn push_named(&mut self, name: u32, role: Role, links: &RawLinks) {
        match role {
            Role::Noscript => self.noscript_depth += 1,
            Role::Paragraph => self.paragraphs += 1,
            _ => {}
        }
        self.stack.push(Element {
            name,
            role,
            number: 0,
            anchor: None,
            mark: links.mark(),
        });
    }

    fn push_formatting(&mut self, tag: Tag, anchor: Option<AnchorId>) {
        let mut equal = 0;
        let mut first = 0;
        for place in self.active() {
            if let Formatting::Element { element, .. } = &self.formatting[place]
                && element.name == tag.name
            {
                equal += 1;
                first = place;
            }
        }
        if equal >= EQUAL_FORMATTING_MAX {
            self.forget(first);
        }
        self.numbered += 1;
        let element = Element {
            name: tag.name,
            role: tag.role,
            number: self.numbered,
            anchor,
            mark: Mark::default(),
        };
        self.stack.push(element);
        self.formatting.push(Formatting::Element {
            element,
            is_open: true,
        });
    }

    /// Returns the positions of the formatting elements since the last marker, the last first.
    fn active(&self) -> std::iter::Rev<std::ops::Range<usize>> {
        let count = self
            .formatting
            .iter()
            .rev()
            .take_while(|entry| matches!(entry, Formatting::Element { .. }))
            .count();
        (self.formatting.len() - count..self.formatting.len()).rev()
    }

    /// Removes a formatting element from the list. If it stays open, it becomes an ordinary
    /// element.
    fn forget(&mut self, place: usize) {
        if let Formatting::Element { element, is_open } = self.formatting.remove(place)
            && is_open
            && let Some(at) = self.find(|e| e.number == element.number, |_| false)
        {
            self.stack[at].number = 0;
        }
    }

    /// Opens formatting elements again that were closed by other elements.
    fn reconstruct(&mut self, links: &mut RawLinks) {
        let is_closed = |entry: &Formatting| matches!(entry, Formatting::Element { is_open: false, .. });
        let closed = self
            .formatting
            .iter()
            .rev()
            .take_while(|entry| is_closed(entry))
            .count();
        let from = self.formatting.len() - closed;
        for entry in &mut self.formatting[from..] {
            if let Formatting::Element { element, is_open } = entry {
                *is_open = true;
                self.stack.push(*element);
                if let Some(anchor) = element.anchor {
                    links.resume_anchor(anchor);
                }
            }
        }
    }

    fn pop_to(&mut self, length: usize, links: &mut RawLinks) {
        self.pop_by(Closing::Other, length, links);
    }

    /// Closes elements until `length` are open.
    fn pop_by(&mut self, closing: Closing, length: usize, links: &mut RawLinks) {
        while self.stack.len() > length {
            let Some(element) = self.stack.pop() else { return };
            if let Some(anchor) = element.anchor {
                links.suspend_anchor(anchor, length, closing);
            }
            self.popped(element, links);
        }
    }

    fn popped(&mut self, element: Element, links: &mut RawLinks) {
        match element.role {
            Role::Cell | Role::Caption | Role::Embedded => self.clear_to_marker(links),
            Role::Noscript => self.noscript_depth -= 1,
            Role::Paragraph => self.paragraphs -= 1,
            _ => {}
        }
        if element.number == 0 {
            return;
        }
        for entry in self.formatting.iter_mut().rev().take(WALK_MAX) {
            if let Formatting::Element {
                element: listed,
                is_open,
            } = entry
                && listed.number == element.number
            {
                *is_open = false;
                return;
            }
        }
    }

    /// Closes the innermost element if it has this role.
    fn pop_top(&mut self, role: Role, links: &mut RawLinks) {
        if self.stack.last().is_some_and(|top| top.role == role) {
            self.pop_to(self.stack.len() - 1, links);
        }
    }

    fn clear_to_marker(&mut self, links: &mut RawLinks) {
        while let Some(Formatting::Element { element, .. }) = self.formatting.pop() {
            if let Some(anchor) = element.anchor {
                links.end_anchor(anchor, AnchorEnd::Implied);
            }
        }
    }

    /// Ends the open paragraph, if there is one, because a block begins.
    fn close_paragraph(&mut self, links: &mut RawLinks) {
        if let Some(found) = self.paragraph() {
            self.pop_by(Closing::BlockStart, found, links);
        }
    }

    /// Returns the position of the paragraph in scope.
    fn paragraph(&self) -> Option<usize> {
        if self.paragraphs == 0 {
            return None;
        }
        let boundary = |role: Role| role.ends_scope() || role == Role::Button;
        self.find(|e| e.role == Role::Paragraph, boundary)
    }

    /// Ends an element of the same name in scope. Returns whether there was one.
    fn close_in_scope(&mut self, tag: Tag, links: &mut RawLinks) -> bool {
        let found = self.find(|e| e.name == tag.name, Role::ends_scope);
        if let Some(found) = found {
            self.pop_to(found, links);
        }
        found.is_some()
    }

    /// Handles `li`, `dd`, `dt`: ends the previous item of the same list.
    fn start_item(&mut self, tag: Tag, links: &mut RawLinks) {
        let boundary = |role: Role| role.is_special() && !matches!(role, Role::WeakBlock | Role::Paragraph);
        if let Some(found) = self.find(|e| e.role == tag.role, boundary) {
            self.pop_to(found, links);
        }
        self.close_paragraph(links);
        self.push(tag, links);
    }

    fn start_form(&mut self, tag: Tag, links: &mut RawLinks) {
        if self.has_form {
            return;
        }
        self.has_form = true;
        let in_table = self
            .stack
            .last()
            .is_some_and(|top| matches!(top.role, Role::Table | Role::RowGroup | Role::Row));
        // A form directly inside the structure of a table contains nothing.
        if !in_table {
            self.close_paragraph(links);
            self.push(tag, links);
        }
    }

    /// Handles the end tag of a form: closes only the form, not the elements that are open in it.
    fn end_form(&mut self, links: &mut RawLinks) {
        self.has_form = false;
        if let Some(found) = self.find(|e| e.role == Role::Form, Role::ends_scope) {
            let implied = |e: &Element| {
                matches!(
                    e.role,
                    Role::Paragraph | Role::Item | Role::Definition | Role::Choice | Role::Ruby
                )
            };
            while self.stack.last().is_some_and(implied) {
                self.pop_to(self.stack.len() - 1, links);
            }
            self.stack.remove(found);
        }
    }

    fn start_table(&mut self, tag: Tag, links: &mut RawLinks) {
        let in_table = |top: &Element| matches!(top.role, Role::Table | Role::RowGroup | Role::Row);
        if self.stack.last().is_some_and(in_table) {
            // A table directly inside the structure of another one ends it.
            self.end(tag, links);
        }
        if self.has_doctype {
            self.close_paragraph(links);
        }
        self.push(tag, links);
    }

    /// Handles `caption`, `col`, `tbody`, `tr`, `td` and the like: closes the open elements of the
    /// table as far as necessary, and opens the required parents.
    fn start_table_part(&mut self, tag: Tag, links: &mut RawLinks) {
        let Some(table) = self.find(|e| e.role == Role::Table, |_| false) else {
            return;
        };
        let role_at = |open: &OpenElements, place: usize| open.stack.get(place).map(|e| e.role);
        let mut inside = table + 1;
        if matches!(tag.role, Role::Row | Role::Cell) {
            if role_at(self, inside) != Some(Role::RowGroup) {
                self.pop_to(inside, links);
                self.push_named(tag::name_of(b"tbody"), Role::RowGroup, links);
            }
            inside += 1;
        }
        if tag.role == Role::Cell {
            if role_at(self, inside) != Some(Role::Row) {
                self.pop_to(inside, links);
                self.push_named(tag::name_of(b"tr"), Role::Row, links);
            }
            inside += 1;
        }
        self.pop_to(inside, links);
        if tag.role == Role::Column {
            return;
        }
        self.push(tag, links);
        if matches!(tag.role, Role::Cell | Role::Caption) {
            self.formatting.push(Formatting::Marker);
        }
    }

    /// Ends the open `a` at the same level when a new one begins, because they do not nest.
    fn end_open_anchor(&mut self, tag: Tag, links: &mut RawLinks) {
        let number_of = |open: &OpenElements, place: usize| match &open.formatting[place] {
            Formatting::Element { element, .. } if element.role == Role::Anchor => Some(element.number),
            _ => None,
        };
        let Some(number) = self.active().find_map(|place| number_of(self, place)) else {
            return;
        };
        self.end_formatting(tag.name, AnchorEnd::Implied, links);
        // The element is removed even if the adoption agency did not remove it, because it was out
        // of scope.
        if let Some(place) = self
            .active()
            .find(|&place| number_of(self, place) == Some(number))
        {
            if let Some(at) = self.find(|e| e.number == number, |_| false) {
                self.remove(at, links);
            }
            self.end_listed(place, AnchorEnd::Implied, links);
        }
    }

    /// Removes one element from the stack; those above it stay.
    fn remove(&mut self, at: usize, links: &mut RawLinks) {
        let element = self.stack.remove(at);
        if let Some(anchor) = element.anchor {
            // The elements above it stay, so no outer element closed it.
            links.suspend_anchor(anchor, self.stack.len(), Closing::Other);
        }
        self.popped(element, links);
    }

    /// Removes an element from the list of active formatting elements, so that it is not opened
    /// again.
    fn end_listed(&mut self, place: usize, end: AnchorEnd, links: &mut RawLinks) {
        if let Formatting::Element { element, .. } = self.formatting.remove(place)
            && let Some(anchor) = element.anchor
        {
            links.end_anchor(anchor, end);
        }
    }

    /// Handles the end tag of a formatting element (the adoption agency of the standard).
    fn end_formatting(&mut self, name: u32, end: AnchorEnd, links: &mut RawLinks) {
        let listed = self.active().find_map(|place| match self.formatting[place] {
            Formatting::Element { element, is_open } if element.name == name => {
                Some((place, element, is_open))
            }
            _ => None,
        });
        let Some((place, element, is_open)) = listed else {
            if let Some(found) = self.find(|e| e.name == name, Role::is_special) {
                self.pop_to(found, links);
            }
            return;
        };
        if is_open {
            let Some(at) = self.find(|e| e.number == element.number, Role::ends_scope) else {
                return;
            };
            let is_special = |e: &Element| e.role.is_special();
            let inside = &self.stack[at + 1..];
            // The standard clones the element into each block, so its first part ends at the first
            // block after words.
            let blocks = inside.iter().filter(|e| is_special(e));
            let cut = blocks.map(|e| e.mark).find(|mark| *mark != Mark::default());
            match inside.iter().rposition(is_special) {
                None => self.pop_to(at, links),
                // The blocks inside stay open, without the element.
                Some(last) => {
                    if let (Some(anchor), Some(mark)) = (element.anchor, cut) {
                        links.cut_anchor(anchor, mark);
                    }
                    self.pop_to(at + 1 + last + 1, links);
                    self.remove(at, links);
                }
            }
        }
        self.end_listed(place, end, links);
    }
}
