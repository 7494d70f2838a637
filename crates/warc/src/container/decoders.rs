//! The decoders of one input, made when first needed and reused from frame to frame.

use std::io;

use crate::container::Container;
use crate::container::decode::Decode;
use crate::container::gzip::Gzip;
use crate::container::lz4::Lz4;
use crate::container::zstd::Zstd;

#[derive(Default)]
pub(crate) struct Decoders {
    gzip: Option<Gzip>,
    zstd: Option<Zstd>,
    lz4: Option<Lz4>,
    dictionary: Option<Vec<u8>>,
}

impl Decoders {
    /// The dictionary for all zstd frames to come.
    pub(crate) fn set_dictionary(&mut self, dictionary: Vec<u8>) {
        self.dictionary = Some(dictionary);
        self.zstd = None;
    }

    pub(crate) fn dictionary(&self) -> Option<&[u8]> {
        self.dictionary.as_deref()
    }

    /// The decoder for the frame in use.
    pub(crate) fn current(&mut self, coding: Coding) -> Option<&mut dyn Decode> {
        match coding {
            Coding::Plain => None,
            Coding::Gzip => self.gzip.as_mut().map(|decoder| decoder as _),
            Coding::Zstd => self.zstd.as_mut().map(|decoder| decoder as _),
            Coding::Lz4 => self.lz4.as_mut().map(|decoder| decoder as _),
        }
    }

    /// The decoder at the start of a frame.
    pub(crate) fn start(&mut self, coding: Coding) -> io::Result<()> {
        match coding {
            Coding::Plain => {}
            Coding::Gzip => self.gzip.get_or_insert_with(Gzip::new).reset(),
            Coding::Lz4 => self.lz4.get_or_insert_with(Lz4::new).reset(),
            Coding::Zstd => match &mut self.zstd {
                Some(zstd) => zstd.reset()?,
                None => self.zstd = Some(Zstd::new(self.dictionary.as_deref())?),
            },
        }
        Ok(())
    }
}

/// How a frame's bytes are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Plain,
    Gzip,
    Zstd,
    Lz4,
}

impl Coding {
    /// `None` for skippable frames.
    pub(crate) fn of(container: Container) -> Option<Coding> {
        match container {
            Container::Gzip => Some(Coding::Gzip),
            Container::Zstd => Some(Coding::Zstd),
            Container::Lz4 => Some(Coding::Lz4),
            Container::Skippable(_) => None,
        }
    }
}
