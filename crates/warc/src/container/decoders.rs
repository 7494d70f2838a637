//! The decoders of one input. Each is created when first needed and reused for later frames.

use std::io;

use super::codec::Decode;
use super::{COMPRESSED, Container};

#[derive(Default)]
pub(crate) struct Decoders {
    /// One decoder for each row of the table.
    made: [Option<Box<dyn Decode>>; COMPRESSED.len()],
    dictionary: Option<Vec<u8>>,
}

impl Decoders {
    /// Sets the dictionary of all later frames.
    pub(crate) fn set_dictionary(&mut self, dictionary: Vec<u8>) {
        self.dictionary = Some(dictionary);
        // Existing decoders do not have the dictionary.
        self.made = Default::default();
    }

    pub(crate) fn dictionary(&self) -> Option<&[u8]> {
        self.dictionary.as_deref()
    }

    /// Returns the decoder for the current frame.
    pub(crate) fn current(&mut self, container: Container) -> Option<&mut dyn Decode> {
        match &mut self.made[container.index()?] {
            Some(decoder) => Some(&mut **decoder),
            None => None,
        }
    }

    /// Prepares the decoder for a frame. Fails if the dictionary is invalid.
    pub(crate) fn start(&mut self, container: Container) -> io::Result<()> {
        let Some(index) = container.index() else {
            return Ok(());
        };
        match &mut self.made[index] {
            Some(decoder) => decoder.reset()?,
            made => *made = Some((COMPRESSED[index].decoder)(self.dictionary.as_deref())?),
        }
        Ok(())
    }
}
